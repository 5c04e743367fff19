package views

import (
	"net/url"
	"time"
)

// UsageHomeURL is the page of total usage.
const UsageHomeURL = "/workspace/usage"

// InspectURL returns the page of a run's calls.
func InspectURL(thread, run string) string { return ThreadURL(thread) + "/runs/" + url.PathEscape(run) }

// InspectPage is GET /workspace/chats/{id}/runs/{run}: the calls of a run with durations and costs.
type InspectPage struct {
	Shell    Shell
	ThreadID string
	RunID    string
	Title    string        // of the chat
	Off      bool          // nothing is kept
	Took     time.Duration // of the run itself
	After    time.Duration // until its background work was done
	Calls    []Call
	Sum      Spent
	Open     *OpenCall // the call being inspected
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
	Provider string // the provider's name of the model
	Finish   string
	Error    string
	Args     string
	Result   string
	Answer   string
	Prompt   *PromptSent // nil where none was kept
}

// PromptSent is the prompt of a model call.
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

// UsageHome is GET /workspace/usage: the total usage.
type UsageHome struct {
	Shell    Shell
	Days     int
	User     string     // the user whose usage it is, "" for the reader's own
	Of       string     // that user's display name
	ByDay    []DaySpent // oldest first, without gaps
	ByModel  []Spent
	ByAgent  []Spent
	ByUser   []Spent // for the installation's owner
	Sum      Spent
	Runs     int
	Budget   []BudgetLine
	Chats    []ChatBudget // the dearest first; none without a budget for chats
	Unpriced bool
}

// DaySpent is the usage of one day.
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

// ChatBudget is a chat's usage and remaining budget.
type ChatBudget struct {
	Thread, Title string
	Used          int
	Spent         []Money
	Budget        BudgetLine // the remaining budget
}
