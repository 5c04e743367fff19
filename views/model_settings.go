package views

import "fawn/assets"

// SettingsPage is GET /workspace/settings/{section}.
type SettingsPage struct {
	Shell    Shell
	Section  string // one of Sections; anything else is a 404 of the handler
	Modal    bool   // the inside of a dialog over another page
	Saved    bool   // confirm saving
	Langs    []string
	Size     int // of the text of answers, in px; 0 is the usual
	About    About
	Sandbox  Sandbox
	Memory   Memory
	Personal Personal
	Data     Data
	Hosts    []string // open to every chat by an answer of the reader's
	Models   Models
	Channels Channels
	Notify   Notify
	Tools    []ToolInfo
	Web      WebServices
	Media    []MediaModel
	Locked   bool // only administrators may see and change it
	Servers  []ServerInfo
	MayAdd   bool // servers, and change them
	Known    []KnownServer
	Login    ServerLogin     // under way or failed
	Pasted   string          // into the form for servers
	Commands []ServerCommand // that the owner is asked about
	Problem  string          // why it was not taken
	Config   *Notice         // a problem of the configuration; nil without one
	Loopback bool            // only this machine can reach the server

	Account  Account
	Sessions []Session
	Tokens   Tokens
	Users    Users
	Groups   Groups
	News     Announcements
}

// Notify is the section with the reader's choices of notifications.
type Notify struct {
	On    bool
	Quiet []string // of NotifyKinds
}

// The kinds of news that can be told while a page is not on screen.
const (
	NotifyFinished = "finished"
	NotifyFailed   = "failed"
	NotifyQuestion = "question"
)

// NotifyKinds returns all of them in their order.
func NotifyKinds() []string { return []string{NotifyFinished, NotifyQuestion, NotifyFailed} }

// NotifyPref returns the choice about one of them: on or off.
func NotifyPref(kind string) string { return "notify_" + kind }

// Personal is the section with the user's and the agent's profile.
type Personal struct {
	Texts []PersonalText
}

// PersonalText is one text of it.
type PersonalText struct {
	Name    string // user or soul
	Text    string
	Seen    string // reports whether the file has changed since
	Problem string // why it was not read or saved
}

// PersonalURL is the target of its forms.
const PersonalURL = "/ui/personal"

// Sections returns the sections of the settings in their order.
func Sections() []string {
	return []string{"appearance", "models", "tools", "mcp", "channels", "sandbox", "personal", "memory", "data",
		"notifications", "account", "about"}
}

// TextSizes returns the sizes the text of answers can have, in px.
func TextSizes() []int { return []int{14, 16, 18, 20} }

// OperatorSections returns the sections that only administrators see: models, tools, servers and the sandbox belong to
// the installation.
func OperatorSections() []string { return []string{"models", "tools", "mcp", "sandbox"} }

// ToolInfo is a tool that models can call.
type ToolInfo struct {
	Name   string
	Reason string // why it can't be used regardless of the switch; empty if it can
	Off    bool   // switched off for all chats
	Fixed  bool   // it has no switch
}

// MediaModel is a model for images, speech or transcription.
type MediaModel struct {
	Kind                  string
	Address, Model, Voice string
	HasKey                bool
	Alike                 []string // models for chats whose address and key it can have
	Like                  string   // the one that was chosen, in a form that was refused
	Wrong, Problem        string   // the field that was refused, and why
}

// WebServices is the section of web search services.
type WebServices struct {
	List     []WebService // services in search order, then the others
	Fallback bool         // the next one is asked when one fails
	Off      bool         // the web tools are switched off in the configuration
	Trial    *WebTrial    // of one of them
	Wrong    string       // name of the service with a refused form
	Problem  string       // why
}

// WebService is one of them.
type WebService struct {
	Name, Label          string
	Search, Read, Images bool
	Place                int    // in the order in which searches ask; 0 where they don't
	Last                 bool   // last in search order
	Key                  string // the variable with its key; empty where it takes none
	KeyFrom              string // where its key comes from: here, environment, or "" without one
	NeedsKey             bool
	KeyPage              string // where people get a key
	Own                  bool   // at an address of one's own
	Address              string
}

// WebTrial is the result of trying a service.
type WebTrial struct {
	Name, Label string
	Took        string
	Titles      []string // of the results
	Problem     string   // catalogue key of the problem; empty if it answered
	Detail      string   // in the words of the service's adapter
}

// ServerInfo is an MCP server of the configuration.
type ServerInfo struct {
	Name   string
	Text   string
	Off    bool   // switched off by its owner
	Reason string // why it cannot be used

	State    string // connecting, ready, login, failed or unavailable; empty if unknown
	Login    string // in if logged in, out if a login is required
	Tools    []ServerTool
	Withheld []ServerTool // changed since they were accepted
	Skipped  []string     // tools that cannot be offered, with the reason
	Log      []string
}

// ServerLogin is a login at an MCP server.
type ServerLogin struct {
	Server string
	URL    string // where the person continues
	Host   string // of the URL
	Failed string // why it has ended without success
}

// KnownServer is an MCP server that can be added with a click.
type KnownServer struct {
	Name   string
	Text   string // catalogue key of its purpose
	Remote bool   // it runs elsewhere
}

// ServerTool is a tool of an MCP server.
type ServerTool struct {
	Name string
	Text string
}

// About is the section about the running version.
type About struct {
	Version      string
	Commit       string
	Go           string
	Platform     string // linux/amd64
	Address      string // where the server listens
	DataDir      string
	ConfigPath   string // empty: no configuration file
	SettingsPath string // the file written by the settings page
	Sandbox      Sandbox
	Operator     bool            // the reader manages the server
	Bundle       bool            // whether the support bundle may be downloaded
	Parts        []assets.Notice // of others, built in
}

// Models is the section of the models.
type Models struct {
	List    []ModelInfo
	Presets []Preset
	Found   []FoundServer // on this machine, without the models that are set up
	Keys    []FoundKey    // in the environment, of providers without a model
	Form    *ModelForm    // open to add or change a model
	Probe   *Probe        // of the model that was tried
	Notice  *Notice
	File    string // the file that is written; empty for the database of several servers
}

// ModelInfo is one configured or found model.
type ModelInfo struct {
	Name     string
	Label    string
	Provider string
	Problem  string // why it cannot be used; empty when it can
	Default  bool   // answers unless another is asked for
	BuiltIn  bool   // the offline model
	Ours     bool   // written by the settings, which may remove it
	Won      int    // comparisons in which its answer was preferred
	Seen     int    // comparisons that were decided
	Values   []Value
}

// Value is a setting with where it was written.
type Value struct {
	Key    string
	Value  string
	Source string
}

// Preset is a provider that can be chosen by its name.
type Preset struct {
	Name    string
	Label   string
	BaseURL string
	Key     string // environment variable of its key; empty if it needs none
	KeySet  bool   // that variable is set
	KeyPage string // where people get a key
	Local   bool   // it runs on this machine
}

// ModelForm holds the fields of a model's form, except the key.
type ModelForm struct {
	Preset   Preset
	Change   bool // of a model that is there
	HasKey   bool
	Shared   bool // it is stored for all servers of a database
	NoKeys   bool // which can't store keys, as there is nothing to seal them with
	Name     string
	Label    string
	Model    string
	BaseURL  string
	Thinking bool
	Vision   bool
	Wrong    string // key of the field that was refused
	Problem  string // why
}

// Probe is the result of a test call to a model.
type Probe struct {
	Name    string
	OK      bool
	Took    string
	BaseURL string // the address that answered, if it differs from the given one
	Error   string // in the provider's own words
	Status  int

	Cause  string   // the problem, one of llm.Causes; empty if there is only Error
	Model  string   // that was asked for, as the provider calls it
	Models []string // that the server has instead
	List   bool     // no model was requested: the server returned its list, possibly empty
	Form   bool     // shown on a form, which can take over one of Models
}

// ServerCommand is an MCP server's command awaiting its owner's approval.
type ServerCommand struct {
	Name, Line string
	Sum        string // identifies the approved command
}
