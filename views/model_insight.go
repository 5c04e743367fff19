package views

import (
	"net/url"
	"time"
)

// UsageHomeURL is the address of the page of total usage.
const UsageHomeURL = "/workspace/usage"

// InspectURL returns the address of the page of a run's calls.
func InspectURL(thread, run string) string { return ThreadURL(thread) + "/runs/" + url.PathEscape(run) }

// InspectPage is GET /workspace/chats/{id}/runs/{run}: the calls of a run with durations and costs.
type InspectPage struct {
	Shell    Shell
	ThreadID string
	RunID    string
	Title    string        // title of the chat
	Off      bool          // records are disabled
	Took     time.Duration // duration of the run itself
	After    time.Duration // time until its background work was done
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
	First  int // time to the first output; 0 without one
	To     int
	Took   time.Duration
	Wait   time.Duration // time to the first visible output
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
	Prompt   *PromptSent // nil if none was kept
}

// PromptSent is the prompt of a model call.
type PromptSent struct {
	System   string
	Messages []PromptMessage
	Tools    []PromptTool
	Missing  int // pieces no longer kept
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
	User     string     // user of the shown usage, "" for the reader
	Of       string     // that user's display name
	ByDay    []DaySpent // oldest first, without gaps
	ByModel  []Spent
	ByAgent  []Spent
	ByUser   []Spent // for the installation's owner
	Sum      Spent
	Runs     int
	Budget   []BudgetLine
	Chats    []ChatBudget // most expensive first; none without a budget for chats
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
	What  string // catalogue key of its name
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
