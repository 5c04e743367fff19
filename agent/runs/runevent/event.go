package runevent

import (
	"encoding/json"
	"strings"

	"fawn/agent"
	"fawn/store"
)

// Kind determines which fields of an [Event] are set.
type Kind uint8

// Kinds of events, in no order.
const (
	KindMeta       Kind = iota + 1 // Data: {"run_id","thread_id","attempt"}
	KindMessage                    // Msg: a message starts to stream
	KindText                       // Msg, Text: a piece of the answer
	KindReasoning                  // Msg, Text: a piece of the reasoning
	KindCall                       // Msg, Data: one agent.CallDelta
	KindFinish                     // Msg, Data: Finish
	KindToolStart                  // Data: one agent.ToolCall
	KindToolOutput                 // Data: {"id","output"}
	KindToolResult                 // Data: ToolEnd
	KindCustom                     // Data: any JSON object
	KindStep                       // Step
	KindError                      // Data: Failure
	KindEnd                        // Data: End; the last event of a run
	KindWithdraw                   // Data: Withdrawal
	KindHalt                       // Data: Halt; precedes the end
)

// Event is an event of a run, as seen by readers. Seq is its cursor. A step covers Seq..To, one number for each frame
// it can expand to; so do a halt and the meta event of a run without input.
type Event struct {
	Seq, To int64
	Kind    Kind
	NS      string // "" for the lead agent
	Msg     *Msg
	Text    string
	Data    json.RawMessage
	Step    *StepData
}

// Msg is the message a delta belongs to. It is shared by all deltas and never changes.
type Msg struct {
	ID string `json:"id"`
	NS string `json:"ns,omitempty"`
}

// Finish closes a streamed message.
type Finish struct {
	Usage  json.RawMessage `json:"usage,omitempty"`
	Finish string          `json:"finish,omitempty"`
	Model  string          `json:"model,omitempty"`
	Kwargs map[string]any  `json:"kwargs,omitempty"`
}

// ToolEnd is a finished tool call; Message is the whole tool message.
type ToolEnd struct {
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Message json.RawMessage `json:"message"`
	Patch   json.RawMessage `json:"patch"`
	End     bool            `json:"end,omitempty"`
	// Hidden is the part of the patch no API shows: notes and the view.
	Hidden json.RawMessage `json:"hidden,omitempty"`
}

// StepData is a finished step. Bodies are in the form every API shows.
type StepData struct {
	Node       string                     `json:"node"`
	Checkpoint string                     `json:"cp"`
	Number     int                        `json:"step"`
	Next       []string                   `json:"next"`
	Messages   []json.RawMessage          `json:"-"` // messages written by the step, removals included
	Fields     map[string]json.RawMessage `json:"-"` // visible fields it wrote
	// Whole marks those of Messages that weren't streamed before and are needed as whole frames by readers of deltas.
	Whole []bool `json:"-"`
	Last  bool   `json:"last,omitempty"` // none of Next runs in this run

	// Saved is the checkpoint itself where the next step takes its place, for readers of the run.
	Saved *store.Checkpoint `json:"saved,omitempty"`
}

// Halt is the reason why an incomplete run stopped: a question or a breakpoint.
type Halt struct {
	Checkpoint string   `json:"cp"`
	Next       []string `json:"next"`
}

// Failure is the error of a failed run. Error is a class name that clients match.
type Failure struct {
	Error   string `json:"error"`
	Name    string `json:"name"`
	Message string `json:"message"`
}

// End is the terminal event; Status equals the stored status of the run.
type End struct {
	Status     string `json:"status"`
	StopReason string `json:"stop_reason,omitempty"`
}

// Withdrawal announces that a streamed message is void: its run was interrupted and continues with another one.
type Withdrawal struct {
	ID string `json:"id"`
	NS string `json:"ns,omitempty"` // namespace of a child's message
}

// Withdrawn returns the id of the message removed by a [KindWithdraw] event.
func Withdrawn(ev Event) string {
	var w Withdrawal
	if json.Unmarshal(ev.Data, &w) != nil {
		return ""
	}
	return w.ID
}

// EndsRun reports whether an event is a tool result after which the run ends.
func EndsRun(ev Event) bool {
	var t ToolEnd
	return ev.Kind == KindToolResult && ev.NS == "" && json.Unmarshal(ev.Data, &t) == nil && t.End
}

// Below returns the namespace of a call inside another namespace.
func Below(ns, call string) string {
	return strings.TrimPrefix(ns+"|"+agent.NodeTools+":"+call, "|")
}

// PlanEdited is the type of the custom event that contains a plan edited by a person, in todos. It is in the run's log
// before it is visible; the next step writes it to the state, together with the model's changes.
const PlanEdited = "todos_edited"
