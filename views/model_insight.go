package views

import (
	"net/url"
	"time"
)

// UsageHomeURL is the page of what everything took.
const UsageHomeURL = "/workspace/usage"

// InspectURL returns the page of a run's calls.
func InspectURL(thread, run string) string { return ThreadURL(thread) + "/runs/" + url.PathEscape(run) }

// InspectPage is GET /workspace/chats/{id}/runs/{run}: what each call of a run took.
type InspectPage struct {
	Shell    Shell
	ThreadID string
	RunID    string
	Title    string        // of the chat
	Off      bool          // nothing is kept
	Took     time.Duration // of the run itself
	After    time.Duration // until what it left to do in the background was done
	Calls    []Call
	Sum      Spent
	Open     *OpenCall // the one that is looked into
}

// Call is a line of the waterfall. From, First and To are thousandths of the run.
type Call struct {
	ID     string
	Kind   string // run, model, tool or side
	Name   string
	Helper bool // a helper made it
	From   int
	First  int // 0 without
	To     int
	Took   time.Duration
	Wait   time.Duration // until there was something to see
	Status string        // ok, error, cancelled, or that of a run
	Spent  Spent
}

// Failed reports whether the call went wrong.
func (c Call) Failed() bool {
	return c.Status != "ok" && c.Status != "success"
}

// OpenCall is all that is known of a call.
type OpenCall struct {
	Call
	Provider string // what the provider calls the model
	Finish   string
	Error    string
	Args     string
	Result   string
	Answer   string
	Prompt   *PromptSent // nil where none was kept
}

// PromptSent is what a model was sent.
type PromptSent struct {
	System   string
	Messages []PromptMessage
	Tools    []PromptTool
	Missing  int // pieces that are not kept any more
}

// PromptMessage is a message of a prompt.
type PromptMessage struct {
	Role string // human, ai, tool, system
	Text string
}

// PromptTool is a tool that a model was offered.
type PromptTool struct{ Name, Text string }

// UsageHome is GET /workspace/usage: what everything took.
type UsageHome struct {
	Shell    Shell
	Days     int
	User     string     // whose it is, "" for the reader's own
	Of       string     // what that user is called
	ByDay    []DaySpent // oldest first, without gaps
	ByModel  []Spent
	ByAgent  []Spent
	ByUser   []Spent // for whoever runs the installation
	Sum      Spent
	Runs     int
	Budget   []BudgetLine
	Chats    []ChatBudget // the dearest first; none without a budget for chats
	Unpriced bool
}

// DaySpent is what one day took.
type DaySpent struct {
	Date  string // YYYY-MM-DD
	Runs  int
	Spent Spent
}

// BudgetLine is a limit of the configuration.
type BudgetLine struct {
	What  string // key of its name
	Limit int    // tokens, 0 is none
	Money Money  // an amount of 0 is none
}

// ChatBudget is what a chat has taken, and what is left of its budget.
type ChatBudget struct {
	Thread, Title string
	Used          int
	Spent         []Money
	Budget        BudgetLine // what is left
}
