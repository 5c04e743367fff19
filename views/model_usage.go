package views

import "time"

// Gauge is the used part of the model's context window at a thread's last request.
type Gauge struct {
	Tokens int  // of that request and its answer
	Window int  // 0 is not known, and nothing is shown
	About  bool // Tokens is worked out: the conversation was shortened since
}

// Known reports whether there is anything to show.
func (g Gauge) Known() bool { return g.Tokens > 0 && g.Window > 0 }

// Percent returns the used percentage of the window.
func (g Gauge) Percent() int {
	if g.Window <= 0 {
		return 0
	}
	return (g.Tokens*100 + g.Window/2) / g.Window
}

// Shortened marks where the model starts to read a conversation verbatim. The zero value means from its start.
type Shortened struct {
	Turn    string // the turn it stands above
	Inside  bool   // the first steps of that turn are hidden, too
	Outputs bool   // nothing is hidden but old output of tools
	Summary string // Markdown: the summary that the model reads instead of the hidden part
}

// UsagePage is GET /ui/threads/{id}/usage: a chat's usage, and the button to compact it.
type UsagePage struct {
	Shell    Shell
	Modal    bool // only the inside of a dialog
	ThreadID string
	Title    string
	Notice   *Notice // result of compacting
	Running  bool    // nothing can be shortened now
	Empty    bool    // nothing was said yet
	Gauge    Gauge
	Hidden   int // messages that the model does not read any more
	Sum      Spent
	Unpriced bool // for a part no price is known
	Runs     []RunSpent
	More     int // runs before these
	Beside   []Spent
}

// Spent is the usage of model calls.
type Spent struct {
	User          string // id, for a user's usage
	Name          string // of a model as people call it; empty with Purpose
	Helpers       bool   // for the helpers of a run
	Purpose       string // of side calls: title, summary, goal, suggestions, input_polish, memory
	Calls         int
	Input, Output int
	Cached        int // of Input, read from the provider's cache
	Money         []Money
}

// Money is an amount in one currency.
type Money struct {
	Amount   float64
	Currency string
}

// RunSpent is a run's usage with its parts.
type RunSpent struct {
	ID    string
	Text  string // first words of the message that began it; empty when it went on without one
	At    time.Time
	State TurnState
	Sum   Spent
	Parts []Spent // by model, then side calls by purpose
}
