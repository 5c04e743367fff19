package views

import "time"

// Gauge is how much of the model's window the last request of a thread filled.
type Gauge struct {
	Tokens int  // of that request and its answer
	Window int  // 0 is not known, and nothing is shown
	About  bool // Tokens is worked out: the conversation was shortened since
}

// Known reports whether there is anything to show.
func (g Gauge) Known() bool { return g.Tokens > 0 && g.Window > 0 }

// Percent returns how much of the window is full.
func (g Gauge) Percent() int {
	if g.Window <= 0 {
		return 0
	}
	return (g.Tokens*100 + g.Window/2) / g.Window
}

// Shortened says from where on the model reads a conversation word for word. The zero value
// is a conversation that it reads whole.
type Shortened struct {
	Turn    string // the turn it stands above
	Inside  bool   // the first steps of that turn are hidden, too
	Outputs bool   // nothing is hidden but old output of tools
	Summary string // Markdown: what the model reads in place of what is hidden
}

// UsagePage is GET /ui/threads/{id}/usage: what a chat took, and the button that shortens it.
type UsagePage struct {
	Shell    Shell
	Modal    bool // only the inside of a dialog
	ThreadID string
	Title    string
	Notice   *Notice // what shortening did
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

// Spent is what model calls took.
type Spent struct {
	User          string // id, of what a user took
	Name          string // of a model as people call it; empty with Purpose
	Helpers       bool   // for the helpers of a run
	Purpose       string // of calls beside the answers: title, summary, goal, suggestions, input_polish, memory
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

// RunSpent is a run with what it was made of.
type RunSpent struct {
	ID    string
	Text  string // first words of the message that began it; empty when it went on without one
	At    time.Time
	State TurnState
	Sum   Spent
	Parts []Spent // by model, then calls beside the answers by purpose
}
