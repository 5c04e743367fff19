package agent

import "context"

// Middleware is one stage around the loop; any hook may be nil. A stage is built once per run, so counters are plain
// variables of its constructor. Hooks return state changes; they never write t.State.
type Middleware struct {
	Name string
	// BeforeAgent runs once, in list order; its patch joins the run's first step.
	BeforeAgent func(ctx context.Context, t *Turn) (State, error)
	// BeforeModel runs before each call, in list order; its patch joins the model step.
	BeforeModel func(ctx context.Context, t *Turn) (State, error)
	// WrapModel surrounds each call, first stage outermost. It may change the request.
	WrapModel func(next ModelFunc) ModelFunc
	// AfterModel sees the answer before it is stored, in reverse order.
	AfterModel func(ctx context.Context, t *Turn, r *Reply) error
	// WrapTool surrounds each tool call, first stage outermost; calls run concurrently.
	WrapTool func(next ToolFunc) ToolFunc
	// AfterAgent runs once at a regular end, in reverse order; its patch is the end step.
	AfterAgent func(ctx context.Context, t *Turn) (State, error)
}

// ModelFunc makes one model call and returns the AI message.
type ModelFunc func(ctx context.Context, t *Turn, req *Request) (*Message, error)

// ToolFunc makes one tool call.
type ToolFunc func(ctx context.Context, t *Turn, c ToolCall) (Result, error)

// Reply is a model's answer before it is logged. A stage that changes the message replaces Message and keeps its ID.
type Reply struct {
	Message    *Message
	Patch      State
	Jump       Jump
	StopReason string // why the run ends early, for the run's record
	Last       *Last  // if set, the run's next model call is its last
	Final      bool   // no further call follows, even if a stage asks for one
}

// Last gives the reason why a run may make only one more model call, without tools: the model answers from its results so far.
type Last struct {
	Reason string // the run's stop reason: token_capped, loop_capped, …
	Note   string // the note shown to the model
}

// Jump selects where the loop continues after the model step.
type Jump int

// Jumps. Continue follows the message: to the tools when it calls any, else to the end.
const (
	Continue Jump = iota
	ToModel
	ToEnd
)
