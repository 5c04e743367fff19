package agent

import (
	"context"
	"encoding/json"
	"log/slog"
)

// Options are a caller's choices for a run.
type Options struct {
	ModelName              string
	Thinking               bool
	ThinkingAsked          bool // the caller set it; otherwise Thinking is the default
	ThinkingGiven          bool // the caller made a choice
	ReasoningEffort        string
	PlanMode               bool
	Subagents              bool
	MaxConcurrentSubagents int
	AgentName              string
	Bootstrap              bool     // the conversation creates the agent of that name
	Vision                 bool     // the resolved model reads images
	DisableClarification   bool     // questions are answered by "decide yourself"
	NonInteractive         bool     // no person can answer; never set by a client
	Interactive            bool     // the client shows questions to a person
	Guest                  bool     // for people without an account: no commands, servers, memory or helpers
	Timezone               string   // IANA name of the person's zone, for dates told to the model
	Secrets                Secrets  // variables of this run's commands only; never stored
	LostSecrets            []string // names of secrets lost in a restart
	ClientTools            []ClientTool
	Knowledge              []string // names or ids of collections that the run searches beside its project's and agent's
}

// ClientTool is a tool carried out by a run's client, as described by it.
type ClientTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"parameters"` // a JSON Schema object
}

// Turn is one run's private working set. It is never shared between runs; only the loop
// goroutine writes State.
type Turn struct {
	Owner    string // account it works for
	ThreadID string
	RunID    string
	NS       string // "" for the lead agent, "tools:<call id>" for a helper
	Options  Options
	State    State
	From     []string          // nodes to continue at, past breakpoints before them; nil means a fresh start at the model
	Results  map[string]Result // results of calls which ended before the run was cut off, by call id
	MaxSteps int               // model and tool steps before the last turn; 0 means 100

	// FailAtLimit ends a run that has used its steps up with a *StepLimitError instead of a
	// last turn.
	FailAtLimit bool

	// StopBefore and StopAfter are breakpoints: names of nodes, aliases included, or "*".
	StopBefore, StopAfter []string

	Sink  Sink
	Log   *slog.Logger
	NewID func() string // ids of messages; unique

	// Plan returns the plan including the person's changes since the last step. It may be nil; use [Turn.Todos].
	Plan func() []Todo

	// Listed is the thread's title in lists when the run began, "" if the run is resumed.
	Listed string

	// Observer receives durations of calls. It may be nil.
	Observer Observer

	// Remark records a note about the run for its caller in the run's metadata. It may be nil; use [Turn.Note].
	Remark func(key, text string)
}

// Todos returns the current plan.
func (t *Turn) Todos() []Todo {
	if t.Plan != nil {
		return t.Plan()
	}
	return t.State.Todos
}

// Note adds a remark to the run if the sink accepts remarks.
func (t *Turn) Note(key, text string) {
	if t.Remark != nil {
		t.Remark(key, text)
	}
}

// Sink stores the events of a run and shows them to readers.
type Sink interface {
	// Emit publishes a delta or notice. It is safe for concurrent use; it may block while storage is slow, and never
	// fails: a storage error cancels the run.
	Emit(ev Event)
	// Record is Emit which returns once the event would survive a crash.
	Record(ctx context.Context, ev Event) error
	// Step stores a finished step: a checkpoint and its events. Only the loop goroutine calls it, after the patch was
	// applied.
	Step(ctx context.Context, s Step) error
}

// EventKind determines which fields of an [Event] are set.
type EventKind uint8

// Kinds of events.
const (
	EventChunk      EventKind = iota + 1 // Message, Chunk
	EventCustom                          // Data: any JSON object
	EventToolStart                       // Call
	EventToolOutput                      // Call.ID, Data: output of a running tool
	EventToolResult                      // Call, Message, Result
)

// Event is something that happens inside a step.
type Event struct {
	Kind    EventKind
	NS      string
	Message string // id of the message the chunk belongs to, or of the tool message
	Chunk   Chunk
	Call    ToolCall
	Result  Result
	Data    json.RawMessage
}

// Step is the change of one checkpoint.
type Step struct {
	Node  string   // NodeInput, NodeModel, NodeTools, NodeEnd or "update"
	Patch State    // the written values
	State *State   // the state after it; only valid during the call
	Next  []string // nodes which would run next
	Last  bool     // none of them runs in this run
}
