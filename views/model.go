// Package views holds the view models of the web pages and the live protocol.
//
// The models are plain structs and form the contract between the handlers, which read threads and runs, and the
// components in the sub-packages, which render them. This package does no I/O. Text is raw: components escape it,
// render Markdown and translate.
package views

import "time"

// Theme is the reader's colour choice.
type Theme string

// The themes. ThemeSystem follows the device.
const (
	ThemeSystem Theme = "system"
	ThemeLight  Theme = "light"
	ThemeDark   Theme = "dark"
)

// Shell is the data of every page's frame: language, theme and the list of chats.
type Shell struct {
	Lang    string      // "en" or "zh-CN"; empty means English
	Theme   Theme       // empty means ThemeSystem
	Size    int         // text size of answers in px; 0 is the default
	Columns Columns     // the reader's column widths
	Now     time.Time   // request time in the reader's time zone; groups the list by day
	Threads []ThreadRow // newest first, the first page only (30 is a good number)
	More    bool        // there are more chats than Threads holds
	Total   int         // number of chats
	Undo    Undo        // a recent deletion
	Toast   *Toast      // the result of an action
	NoSide  bool        // the reader has hidden the side bar
	NoKeys  bool        // the reader disabled single-key shortcuts
	Current string      // id of the thread on screen, empty on other pages
	Path    string      // path and query of this page, for forms that return to it
	Nav     Nav         // current entry of the side bar
	Who     *Who        // the signed-in account; nil without accounts

	Banners  []Announcement // not dismissed by the reader
	Projects []ProjectLink  // the reader's projects by name
	Project  string         // id of the project on screen, or of the chat's project
	// Stay is the address to which the page reports that its temporary chat is still open; "" for other pages.
	Stay string
}

// Palette is the content of the palette of commands and chats.
type Palette struct {
	Query  string
	Who    *Who        // the signed-in account; nil without accounts
	InChat bool        // a chat is on screen
	Chats  []ThreadRow // the newest, or the search results
	// Prompts are the matching prompts.
	Prompts []SavedPrompt
}

// Nav names the current entry of the side bar.
type Nav string

// Entries of the side bar; NavNone is used for a thread or an error page.
const (
	NavNone      Nav = ""
	NavNew       Nav = "new"
	NavChats     Nav = "chats"
	NavAgents    Nav = "agents"
	NavSkills    Nav = "skills"
	NavTasks     Nav = "tasks"
	NavSettings  Nav = "settings"
	NavProjects  Nav = "projects"
	NavKnowledge Nav = "knowledge"
	NavPrompts   Nav = "prompts"
)

// ThreadState is the state shown by a chat's dot.
type ThreadState string

// The states of a chat in the list.
const (
	ThreadIdle    ThreadState = ""
	ThreadRunning ThreadState = "running" // amber, pulsing
	ThreadUnread  ThreadState = "unread"  // finished and not seen since: pine
	ThreadWaiting ThreadState = "waiting" // waits for an answer from the reader: sky
	ThreadFailed  ThreadState = "failed"  // last run failed and not seen since: rose
)

// ThreadRow is one chat in a list.
type ThreadRow struct {
	ID        string
	Title     string // empty: "New chat" is shown; give the first words of the message while no title exists
	UpdatedAt time.Time
	State     ThreadState
	Pinned    bool // listed above the others
	Archived  bool // shown by searches and the list of archived chats only
	Temporary bool // not listed, and deleted when left
	Tags      []string
	Source    Source
	Turns     int // number of the reader's messages; 0 hides the number (all-chats page only)
}

// WelcomePage is GET /workspace/chats/new.
type WelcomePage struct {
	Shell    Shell
	Composer Composer // Composer.New is true, Composer.ThreadID is the id made beforehand
	Notice   *Notice  // a problem of the configuration
	FirstRun *FirstRun
	Project  *ProjectLink // project of the new chat; nil for none
	Starters []string     // ids out of write, research, analyse, learn, page, code; nil shows the usual five
}

// FirstRun is the calm card of the welcome page while the built-in offline
// model answers.
type FirstRun struct {
	Abilities  []string      // its abilities, one short sentence each; nil shows the built-in list
	Keys       []FoundKey    // API keys seen in the environment
	Servers    []FoundServer // local model servers that answered
	ConfigPath string        // where the configuration file is or would be
}

// FoundKey is an API key present in the environment, without its value.
type FoundKey struct {
	Env      string // OPENAI_API_KEY
	Provider string // OpenAI
	Preset   string // preset that uses it
}

// FoundServer is a model server found on this machine.
type FoundServer struct {
	Name   string // Ollama
	URL    string
	Models []string // names it offers, at most a handful
}

// Composer is the message box and everything in it.
type Composer struct {
	ThreadID    string // the thread it posts to; with New, the id made beforehand for uploads
	New         bool   // posts to /ui/threads with hidden field "thread" instead of /ui/threads/{id}/messages
	Text        string // initial text of the box (?q= or a refused message)
	Models      []ModelChoice
	Model       string // name of the chosen model; empty means the first
	Mode        Mode   // the reader's choice; shown as ModeFlash while the model can't think
	Effort      string // reasoning effort of a model that supports it; empty leaves it to the mode
	Running     bool   // a run is active: the round button stops it
	Stopping    bool   // a stop was requested, but the run hasn't ended yet
	Attachments []Attachment
	Limits      UploadLimits
	Autofocus   bool
	Partner     Partner         // the agent the chat is with
	Project     string          // project of a new chat; empty is none
	Also        string          // name of the chat app that can also receive the answer; empty is none
	Chats       []TaskChat      // other chats that it can be sent to
	Servers     bool            // there are MCP servers, whose tools are in a menu
	ToolsOff    bool            // some of those tools are switched off for the chat
	Dictate     bool            // a model transcribes speech; otherwise the browser may
	Speech      bool            // a model reads aloud; else the browser may
	MayAdd      bool            // the reader may add models
	Temporary   bool            // the chat is deleted when it is left
	Memory      MemoryUse       // whether the chat uses memory
	Knowledge   []ProjectChoice // collections of documents that the chat can search, named by their ids
	Problem     string          // why the last message was refused, in the reader's language; empty when it was not
}

// MemoryUse is whether a chat uses memory, and who decided it.
type MemoryUse string

// States of a chat's memory. MemoryNone is for servers with memory disabled.
const (
	MemoryNone      MemoryUse = ""
	MemoryOn        MemoryUse = "on"
	MemoryOff       MemoryUse = "off"       // disabled for this chat
	MemoryMuted     MemoryUse = "muted"     // disabled for all chats of the reader
	MemoryTemporary MemoryUse = "temporary" // because the chat is temporary
)

// Partner is the custom agent that a chat is with; without a name it is the lead agent.
type Partner struct {
	Name   string
	Text   string // its purpose
	Making bool   // it is being created in this chat
}

// OfflineModel is the name of the model that answers if none is configured; components show it in the
// reader's language.
const OfflineModel = "offline"

// Mode is the effort of an agent before it answers.
type Mode string

// The modes, from quick to thorough. A model that cannot think has only ModeFlash.
const (
	ModeFlash    Mode = "flash"
	ModeThinking Mode = "thinking"
	ModePro      Mode = "pro"
	ModeUltra    Mode = "ultra"
)

// ModelChoice is one entry of the model menu, shown when there are two or more.
type ModelChoice struct {
	Name   string // the value sent in field "model"
	Label  string // display name; empty shows Name
	Text   string // one line about it; may be empty
	Thinks bool   // it can think, so modes are offered
	Effort bool   // its reasoning effort can be set
}

// UploadLimits are checked in the browser before sending and by the server
// again. Zero means no limit.
type UploadLimits struct {
	FileBytes  int64
	TotalBytes int64
	Files      int
}

// Attachment is a file the reader sent, as a chip.
type Attachment struct {
	Name  string // file name in the thread's uploads folder
	Path  string // virtual path without leading slash, for example mnt/user-data/uploads/a.csv; empty gives no link
	Bytes int64
	Error string // why it was refused; empty if it was accepted
	// Document is "pending" while the document is converted, or a word for why it is missing or incomplete; otherwise
	// empty.
	Document string
	// Encoding is the detected encoding of its text, if ambiguous.
	Encoding string
	// Unseen is the format of a picture that no model is shown; empty for all else.
	Unseen string
	// Done of Pages are read, while it is being read and has pages.
	Done, Pages int
}

// ErrorPage is a whole page for a failed request.
type ErrorPage struct {
	Shell     Shell // may be empty except for Lang and Theme: then no list is shown
	Bare      bool  // omit the side bar (the store may be broken)
	Public    bool  // rendered for readers of a share link; implies Bare
	Status    int   // 404, 403, 500 ...; chooses title and advice
	Detail    string
	RequestID string
}

// ConfirmPage asks before a chat is deleted, for browsers without script and
// for direct visits to GET /ui/threads/{id}/delete.
type ConfirmPage struct {
	Shell    Shell
	ThreadID string
	Title    string
	Files    int // number of its files
}

// SandboxState is the level of isolation of commands.
type SandboxState string

// The states of the sandbox.
const (
	SandboxGood SandboxState = "good"
	SandboxWeak SandboxState = "weak" // a layer is missing
	SandboxOpen SandboxState = "open" // there is no isolation
	SandboxOff  SandboxState = "off"  // commands are disabled
)

// MenuPage is GET /ui/threads/{id}/menu: the actions for a chat of the side bar.
type MenuPage struct {
	Shell Shell
	Row   ThreadRow
	Alone bool // only the menu, which the page's script places next to the row
	// Restart means that the sandbox can be restarted.
	Restart bool
}

// Sandbox describes the isolation of commands.
type Sandbox struct {
	State    SandboxState // "" is unknown and not shown
	Provider string
	Layers   []string
	Degraded []string // weakened protections, in words
	Reason   string   // reason why there is none
	Hint     string   // advice
	Network  string   // proxy, none or host
	Disk     int64    // disk limit of a chat in bytes, 0 for none
}

// Columns are the widths of the outer columns that the reader chose, one of SideWidths in
// px and one of PanelWidths in per cent of the page; 0 is the usual.
type Columns struct{ Side, Panel int }

// SideWidths returns the widths the side bar can be given, in px.
func SideWidths() []int { return []int{220, 240, 260, 280, 300, 320, 340, 360} }

// PanelWidths returns the widths the panel can be given, in per cent of the page.
func PanelWidths() []int { return []int{30, 35, 40, 45, 50, 55, 60, 65, 70} }

// ChatsPage is GET /workspace/chats: all chats, or search results.
type ChatsPage struct {
	Shell Shell
	List  ChatList
	Total int
	// Tags are the tags of the reader's chats.
	Tags []string
	// Apps are the chat apps that the list can be narrowed down to; none offers nothing.
	Apps []Source
}

// ChatList is a page of the list of all chats.
type ChatList struct {
	Now      time.Time
	Query    string // the words searched for; empty lists everything
	From     Source // only chats begun there; FromApps is any chat app, a nameless one is everywhere
	Show     string // "", ShowArchived, or ShowTag and a tag
	Rows     []ChatRow
	Later    bool   // a later page of the list
	More     string // address of the next page; empty on the last
	MoreRows string // address of the next page as a fragment
	Restart  bool   // sandboxes can be restarted
}

// FromApps is the Name of a Source that stands for all chat apps.
const FromApps = "channels"

// Alternatives to unarchived chats in the list of all chats.
const (
	ShowArchived = "archived"
	ShowTag      = "tag:"
)

// TagsPage is GET /ui/threads/{id}/tags.
type TagsPage struct {
	Shell    Shell
	Modal    bool
	ThreadID string
	Tags     []string
	Known    []string // tags of other chats, to choose from
	Problem  string
}

// ChatRow is one chat of that list.
type ChatRow struct {
	ThreadRow
	Message string // id of the message found by a search, empty if it found the title
	Excerpt string // excerpt of that message
}

// Undo is a deletion that can be taken back.
type Undo struct {
	Token string
	Count int // number of chats; 0 means too late
}

// Share is a link that lets anyone read a thread.
type Share struct {
	Path  string    // path of the link on this server
	URL   string    // complete link, as passed on
	At    time.Time // when its content was fixed
	Stale bool      // the chat has continued since
}

// SharePage is GET /ui/threads/{id}/share: the link of a thread, or a button to create one.
type SharePage struct {
	Shell    Shell
	Modal    bool // only the inside of a dialog
	ThreadID string
	Title    string
	Empty    bool   // the chat is empty, so there is nothing to share
	Share    *Share // nil if the thread isn't shared
	Local    string // this computer's local address in links, unreachable for others
}

// SharedPage is GET /share/{token}: a thread for readers of the link only.
type SharedPage struct {
	Shell Shell // Lang and Theme only
	Token string
	Title string
	At    time.Time
	Turns []Turn
	Files map[string]bool // paths of files readable through the link
}
