package views

import "fawn/assets"

// SettingsPage is GET /workspace/settings/{section}.
type SettingsPage struct {
	Shell    Shell
	Section  string // one of Sections; the handler responds to others with 404
	Modal    bool   // the inside of a dialog over another page
	Saved    bool   // confirm saving
	Langs    []string
	Size     int // text size of answers in px; 0 is the default
	About    About
	Sandbox  Sandbox
	Memory   Memory
	Personal Personal
	Data     Data
	Hosts    []string // hosts the reader opened to every chat
	Models   Models
	Channels Channels
	Notify   Notify
	Tools    []ToolInfo
	Web      WebServices
	Media    []MediaModel
	Locked   bool // only administrators may see and change it
	Servers  []ServerInfo
	MayAdd   bool // the reader may add and change servers
	Known    []KnownServer
	Login    ServerLogin     // login in progress or failed
	Pasted   string          // text pasted into the form for servers
	Commands []ServerCommand // commands that need the owner's consent
	Problem  string          // why it wasn't accepted
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
	Quiet []string // disabled kinds, of NotifyKinds
}

// Kinds of notifications while the page isn't visible.
const (
	NotifyFinished = "finished"
	NotifyFailed   = "failed"
	NotifyQuestion = "question"
)

// NotifyKinds returns all of them in their order.
func NotifyKinds() []string { return []string{NotifyFinished, NotifyQuestion, NotifyFailed} }

// NotifyPref returns the preference for a kind: on or off.
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
	Reason string // why it can't be used, regardless of the switch; empty if it can
	Off    bool   // switched off for all chats
	Fixed  bool   // it has no switch
}

// MediaModel is a model for images, speech or transcription.
type MediaModel struct {
	Kind                  string
	Address, Model, Voice string
	HasKey                bool
	Alike                 []string // chat models whose address and key it can use
	Like                  string   // choice in a refused form
	Wrong, Problem        string   // the refused field, and the reason
}

// WebServices is the section of web search services.
type WebServices struct {
	List     []WebService // services in search order, then the others
	Fallback bool         // if a service fails, the next one is asked
	Off      bool         // web tools are disabled in the configuration
	Trial    *WebTrial    // result of trying a service
	Wrong    string       // name of the service with a refused form
	Problem  string       // reason for the refusal
}

// WebService is a service that searches or reads the web.
type WebService struct {
	Name, Label          string
	Search, Read, Images bool
	Place                int    // position in the search order; 0 if it isn't searched
	Last                 bool   // last in search order
	Key                  string // variable with its key; empty if it takes none
	KeyFrom              string // source of its key: here, environment, or "" without one
	NeedsKey             bool
	KeyPage              string // where people get a key
	Own                  bool   // self-hosted at the given address
	Address              string
}

// WebTrial is the result of trying a service.
type WebTrial struct {
	Name, Label string
	Took        string
	Titles      []string // titles of the results
	Problem     string   // catalogue key of the problem; empty if it answered
	Detail      string   // message of the service's adapter
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
	URL    string // address where the person continues
	Host   string // host of the URL
	Failed string // why the login failed
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
	Parts        []assets.Notice // third-party components built in
}

// Models is the section of the models.
type Models struct {
	List    []ModelInfo
	Presets []Preset
	Found   []FoundServer // servers on this machine with models that aren't set up
	Keys    []FoundKey    // keys in the environment of providers without a model
	Form    *ModelForm    // open to add or change a model
	Probe   *Probe        // result of trying a model
	Notice  *Notice
	File    string // file to be written; empty for the database of several servers
}

// ModelInfo is one configured or found model.
type ModelInfo struct {
	Name     string
	Label    string
	Provider string
	Problem  string // why it can't be used; empty if it can
	Default  bool   // answers unless another is asked for
	BuiltIn  bool   // the offline model
	Ours     bool   // written by the settings, which may remove it
	Won      int    // comparisons in which its answer was preferred
	Seen     int    // decided comparisons
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
	Change   bool // changes an existing model
	HasKey   bool
	Shared   bool // it is stored for all servers of a database
	NoKeys   bool // keys can't be stored, as there is no key to seal them with
	Name     string
	Label    string
	Model    string
	BaseURL  string
	Thinking bool
	Vision   bool
	Wrong    string // catalogue key of the refused field
	Problem  string // reason for the refusal
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
	Model  string   // requested model, by the provider's name
	Models []string // models the server offers instead
	List   bool     // no model was requested: the server returned its list, possibly empty
	Form   bool     // shown on a form, which can take over one of Models
}

// ServerCommand is an MCP server's command awaiting its owner's approval.
type ServerCommand struct {
	Name, Line string
	Sum        string // identifies the approved command
}
