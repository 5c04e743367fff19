package views

import (
	"encoding/json"
	"slices"
	"time"
)

// ThreadPage is GET /workspace/chats/{id}.
type ThreadPage struct {
	Shell    Shell
	Thread   Thread
	Composer Composer
	Panel    *Panel  // open next to the conversation if set (?file= or the file page)
	Notice   *Notice // one sentence above the conversation
	Sandbox  Sandbox // only shown with a problem
	Restart  bool    // the sandbox can be restarted
	Browser  bool    // the agent has or had a browser open
	Source   Source
	Project  *ProjectLink // the chat's project; nil for none
}

// Thread is one conversation.
type Thread struct {
	ID      string
	Title   string    // see ThreadRow
	Row     ThreadRow // its row in lists
	Shared  bool      // others can read it through a link
	Turns   []Turn    // oldest first, only the last ones if there are many
	Behind  *Gap      // turns left out after the last one
	Files   []File    // all files presented by the agent so far, newest first
	Running bool      // a run is active: the page opens the stream
	Cursor  string    // position at which the page was rendered; the stream continues from here
	// Queue are messages that wait until the run has ended well.
	Queue []Queued
	// Later are runs that wait for their time, the next one first.
	Later []Later
	// Asks are hosts that the agent asks to reach, oldest first.
	Asks  []NetworkQuestion
	Gauge Gauge
	// Todos is the plan of an agent in plan mode, in order; empty without one.
	Todos []Todo
}

// Queued is a message that was sent while a run works.
type Queued struct {
	Run   string // run waiting with it
	Text  string
	Files string // names of its files, one per line
}

// Later is a delayed run, which starts automatically.
type Later struct {
	Run  string
	Text string // text of its message; empty without one
	At   time.Time
}

// NetworkQuestion is an undecided host that was refused to a thread's commands.
type NetworkQuestion struct {
	ThreadID string
	Host     string
	Port     int
	Waiting  bool // a command is paused until it is answered

	Form *ServerForm // a question of an MCP server instead of a host, during its call
}

// ServerForm is a form requested by an MCP server.
type ServerForm struct {
	ID      string
	Server  string
	Text    string
	Fields  []Field
	Problem string // why the last answer wasn't accepted
}

// Same reports whether two questions look alike.
func (q NetworkQuestion) Same(o NetworkQuestion) bool {
	if q.Form == nil || o.Form == nil {
		return q == o
	}
	return q.ThreadID == o.ThreadID && q.Form.ID == o.Form.ID && q.Form.Problem == o.Form.Problem
}

// SameAsks reports whether lists of questions look the same.
func SameAsks(a, b []NetworkQuestion) bool { return slices.EqualFunc(a, b, NetworkQuestion.Same) }

// Notice is one sentence at the top of a page.
type Notice struct {
	Kind NoticeKind
	Text string // message in the reader's language

	Detail string // external text, shown verbatim; may have many lines
}

// NoticeKind chooses colour and role of a notice or toast.
type NoticeKind string

// The kinds of notices.
const (
	NoticeInfo  NoticeKind = "info"
	NoticeGood  NoticeKind = "good"
	NoticeWarn  NoticeKind = "warn"
	NoticeError NoticeKind = "error"
)

// TurnState is the progress of a turn.
type TurnState string

// The states of a turn.
const (
	TurnQueued  TurnState = "wait" // sent, but the run hasn't begun
	TurnRunning TurnState = "run"
	TurnDone    TurnState = "done"
	TurnFailed  TurnState = "fail"
	TurnStopped TurnState = "stop"
)

// Turn is a message of the reader and everything up to the next one.
//
// The trail shows, in order, the steps before the answer: thinking, tool calls and text between calls. Answer is the
// text of the last message without tool calls, nil until its first word. A message whose text is followed by tool calls
// is a Step of kind StepNote, not the answer; live, its text streams as the answer and moves into the trail when the
// first call of that message is known.
type Turn struct {
	ID     string // stable for the life of the turn: the id of the reader's message
	User   *UserMessage
	State  TurnState
	Trail  Trail
	Answer *Answer
	Files  []File // files presented in this turn, then others that it created or changed
	// Changes are the file changes of its runs.
	Changes []RunChanges
	// Questions with which the agent ended the turn; shown when it has ended.
	Questions []Question
	Failure   *Failure // with TurnFailed
	Elapsed   time.Duration
	Tokens    int    // input and output together; 0 hides the number
	Model     string // display name of the answering model, or OfflineModel
	Resume    bool   // it can be retried or continued: POST .../messages with resume=1
	Run       string // run that answered, the subject of ratings; empty if unknown
	Rating    int    // the reader's rating of the answer: 1, -1 or 0
	// Small is the model's context window in tokens if it is too small for the whole prompt and all tools; ReqCut means
	// that messages were omitted from a request, Blind that the model can't see the attached images.
	Small  int
	ReqCut bool
	Blind  bool
	// Gone is the requested model, which can't be used any more; another one answered.
	Gone string
	// Memories is the number of memories used by its run.
	Memories int
	Paused   bool // a command of its run waits for a decision about a host
	// Breakpoint means that a turn stopped at a breakpoint of its run rather than by a person.
	Breakpoint bool
	Version    Version
	Next       Followups
	Numbers    map[string]int  // page numbers in the thread, by PageKey; immutable
	Opened     map[string]bool // pages that tools have opened up to here, by PageKey
	Cut        *Shortened      // from here on the model reads the conversation verbatim; usually nil
	Gap        *Gap            // turns left out in front of this one
	Last       bool            // the last turn of the thread: its actions are always visible and it may offer to continue
}

// Waits reports whether the turn ended with a question that is still open.
func (t *Turn) Waits() bool {
	return slices.ContainsFunc(t.Questions, func(q Question) bool { return q.Open })
}

// Gap represents turns of a long conversation that a page leaves out until requested.
type Gap struct {
	Before string // turn after the gap
	After  string // turn before the gap; empty if the gap is at the beginning
	// Next and Prev are the first and the last turn left out. Next is empty when After is.
	Next, Prev string
}

// Followups are possible next messages of the reader. Ask means that none were requested yet, which the page does when
// idle.
type Followups struct {
	List []string
	Ask  bool
}

// Version identifies the shown version of a turn among those from regenerating and editing. Of is 0 if there is only
// one.
type Version struct {
	N, Of      int
	Prev, Next string // value of field "checkpoint" for POST .../version; empty at the ends
}

// UserMessage is a message sent by the reader.
type UserMessage struct {
	ID    string
	Text  string // as typed
	Files []Attachment

	Editing bool // shown as a form to send it again
}

// Answer is the text where the trail ends.
type Answer struct {
	ID   string // message id
	Text string // Markdown source as far as it is known
	Open bool   // still growing: rendered by markdown.Partial so that patches fit
}

// Failure explains a failed turn to people.
type Failure struct {
	Kind      FailureKind
	Cause     string // plain cause, for example the provider's own sentence
	RequestID string // run or request id, shown under details
	Others    bool   // there are other models to switch to
	Model     string // model whose settings may be the cause
}

// FailureKind chooses the headline and the advice of a failed turn.
type FailureKind string

// Failures with their own texts; FailureOther uses the general ones.
const (
	FailureOther       FailureKind = "other"
	FailureRateLimit   FailureKind = "rate_limit"
	FailureAuth        FailureKind = "auth"        // the key was refused
	FailureQuota       FailureKind = "quota"       // no credit left
	FailureContext     FailureKind = "context"     // the conversation is too long for the model
	FailureUnreachable FailureKind = "unreachable" // network or server down
	FailureTimeout     FailureKind = "timeout"
	FailureCut         FailureKind = "cut"         // the provider ended the answer early
	FailureLength      FailureKind = "length"      // the model's limit cut the answer
	FailureStorage     FailureKind = "storage"     // disk full or I/O error
	FailureInterrupted FailureKind = "interrupted" // the server stopped in the middle
)

// Trail is the list of steps of a turn.
type Trail struct {
	Steps   []Step
	Since   time.Time     // when the run began; a running trail counts from here
	Elapsed time.Duration // set once it has ended
	Open    bool          // shown unfolded; set it while the turn runs and has no answer yet
}

// StepKind is the kind of a trail's node.
type StepKind string

// The kinds of steps.
const (
	StepTool      StepKind = "tool"
	StepReasoning StepKind = "reasoning" // with StepStop: text before a crash cut it off
	StepNote      StepKind = "note"      // text the model wrote before calling tools
	StepRetry     StepKind = "retry"     // the provider failed and is asked again at Retry.Until
)

// StepState is the progress of a step.
type StepState string

// The states of a step; the values are the class names of the nodes.
const (
	StepWait StepState = "wait"
	StepRun  StepState = "run"
	StepDone StepState = "done"
	StepFail StepState = "fail"
	StepStop StepState = "stop"
)

// Step is one node on the trail.
type Step struct {
	// ID is unique in the thread: the id of the tool call, made unique where a model repeats
	// itself; for reasoning and notes the message's.
	ID       string
	ThreadID string
	Kind     StepKind
	State    StepState
	Since    time.Time // when it began; a running step counts from here
	Elapsed  time.Duration

	// Of a tool call.
	Tool    string          // ls, read_file, write_file, str_replace, glob, grep, present_files, bash, or any other name
	Args    json.RawMessage // arguments as sent by the model; may be cut off or invalid
	Output  string          // the beginning of the output, at most a few KB; the rest is loaded on demand
	Bytes   int64           // size of the whole output
	Lines   int             // lines of the whole output
	Error   string          // one line: why it failed
	Exit    int             // exit code of a command that failed; its output is Output, and Error is empty
	Sites   []string        // names of the sites that a search found, each once
	Web     *Web            // search results or a read page; nil for other tools
	Browser *Browsed        // the page after a step in the browser; nil for other tools
	Helper  Helper          // details of a call that started a helper
	Made    *Pictures       // pictures made by a model; nil for other tools
	App     *App            // app that displays the result; nil for most

	Retry Retry // of a StepRetry

	// Of reasoning and notes.
	Text string // Markdown
	Open bool   // Text is still growing
}

// App is a page of an MCP server that shows the result of a call.
type App struct {
	Server string
	Tool   string // tool name on the server
}

// Pictures are the images of one call, with the data to create similar ones.
type Pictures struct {
	Prompt string
	Model  string
	Seed   string // empty if none was chosen
	Edit   bool   // an existing picture was edited
	Files  []File
}

// Retry is a wait for the model's provider.
type Retry struct {
	Reason      string    // burst, busy or network
	Until       time.Time // when it is asked again
	Attempt, Of int       // next attempt, and the maximum
}

// Helper is a helper's report about itself; unknown fields are empty.
type Helper struct {
	Model  string // model it runs on
	Tokens int    // tokens read and written so far
	Doing  *Step  // current tool call: Tool and Args
	Said   string // beginning of its last text or result
}

// StepBody is GET /ui/threads/{id}/steps/{step}: everything about one tool call.
type StepBody struct {
	Shell  Shell // only for the whole page, which browsers without script get
	Thread string
	Step   Step         // Output holds the shown part of the output, at most 256 KB
	Cut    bool         // Output is incomplete
	Files  []File       // files presented by the call
	Raw    string       // address of the whole output as plain text; empty when there is none
	Trail  *HelperTrail // helper with stored steps
}

// HelperTrail lists a helper's steps.
type HelperTrail struct {
	Thread  string
	Step    string // call that started it
	Title   string
	Steps   []Step
	Answer  string // its last message, or its report once it has ended; Markdown
	Running bool
}

// Toast is a short message in the corner.
type Toast struct {
	Kind NoticeKind
	Text string // in the reader's language
}

// Question is something the agent asked and ended its run for: a card where the answer
// would be. The reader's next message answers it.
type Question struct {
	ID       string // id of the tool message, which the answer refers to
	ThreadID string
	Kind     string // missing_info, ambiguous_requirement, approach_choice, risk_confirmation or suggestion
	Text     string
	Context  string   // why it is asked; may be empty
	Options  []Choice // choices, in addition to free text
	Fields   []Field  // a form; without options
	Open     bool     // it can be answered now
	Answer   string   // the answer, if known
}

// Choice is one of several answers.
type Choice struct {
	ID    string // id sent by the form
	Label string // displayed text
	Value string // text sent when chosen
}

// Field is one input of a question's form.
type Field struct {
	Name        string // name passed to the model
	Label       string
	Type        string // text, textarea, number, select, multi_select, checkbox or date
	Required    bool
	Placeholder string
	Values      []string // initially selected choices of a multi_select
	Value       string   // initial value; of a select the Value of a choice, "true" ticks a checkbox
	Options     []Choice
}

// TodoState is the progress of a plan's item.
type TodoState string

// The states of an item; the values are class names.
const (
	TodoOpen TodoState = "wait"
	TodoWork TodoState = "run"
	TodoDone TodoState = "done"
)

// Todo is an item of the agent's plan.
type Todo struct {
	ID    string // "" if it can't be changed
	Text  string
	State TodoState
}

// ThreadTools is GET /ui/threads/{id}/tools: the tools of MCP servers that a chat has.
type ThreadTools struct {
	Shell    Shell
	Menu     bool // only the menu of the message box
	ThreadID string
	New      bool   // the chat has no message yet
	Text     string // text of the message box, for returning without a script
	Manage   bool   // the reader may add and change servers
	Servers  []ToolServer
}

// ToolServer is an MCP server in a chat.
type ToolServer struct {
	Name  string
	State string // connecting, ready, login, failed or unavailable
	Off   bool   // disabled with all its tools
	Tools []ToolSwitch
}

// ToolSwitch is one tool of a server.
type ToolSwitch struct {
	Name string // tool name on the server
	Text string
	Off  bool // disabled individually
}

// PrintPage is GET /ui/threads/{id}/print: a whole chat for printing.
type PrintPage struct {
	Shell    Shell // Lang and Theme only
	ThreadID string
	Title    string
	At       time.Time
	Turns    []Turn
	Now      bool // open the print dialog
}

// CompareURL returns the address of the page of a comparison.
func CompareURL(id string) string { return "/workspace/compare/" + id }

// ComparePage shows several models' answers to one question side by side.
type ComparePage struct {
	Shell  Shell
	ID     string
	Title  string
	Sides  []CompareSide
	Chosen string // thread that was preferred, "" for none yet
}

// CompareSide is one of the answers.
type CompareSide struct {
	ThreadID string
	Model    string
	Gone     bool // the chat was deleted
}
