package views

import "time"

// Gauge is the used part of the model's context window at a thread's last request.
type Gauge struct {
	Tokens int  // tokens of that request and its answer
	Window int  // 0 is unknown and not shown
	About  bool // Tokens is an estimate, as the conversation was shortened since
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
	Turn    string // turn below it
	Inside  bool   // the first steps of that turn are hidden, too
	Outputs bool   // only old output of tools is hidden
	Summary string // Markdown: the summary that the model reads in place of the hidden part
}

// UsagePage is GET /ui/threads/{id}/usage: a chat's usage, and the button to compact it.
type UsagePage struct {
	Shell    Shell
	Modal    bool // only the inside of a dialog
	ThreadID string
	Title    string
	Notice   *Notice // result of compacting
	Running  bool    // nothing can be shortened during a run
	Empty    bool    // the chat is empty
	Gauge    Gauge
	Hidden   int // messages the model no longer reads
	Sum      Spent
	Unpriced bool // part of the price is unknown
	Runs     []RunSpent
	More     int // runs before these
	Beside   []Spent
}

// Spent is the usage of model calls.
type Spent struct {
	User          string // id, for a user's usage
	Name          string // display name of the model; empty with Purpose
	Helpers       bool   // for the helpers of a run
	Purpose       string // purpose of side calls: title, summary, goal, suggestions, input_polish, memory
	Calls         int
	Input, Output int
	Cached        int // part of Input read from the provider's cache
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
	Text  string // first words of its message; empty if it continued without one
	At    time.Time
	State TurnState
	Sum   Spent
	Parts []Spent // by model, then side calls by purpose
}
