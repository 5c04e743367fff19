package middleware

import (
	"context"
	"errors"
	"strings"

	"fawn/agent"
	"fawn/agent/llm/wire"
)

// errNoAnswer ends a run whose model twice returned an empty answer.
var errNoAnswer = &namedError{"EmptyAnswer",
	errors.New("the model ended without an answer, twice. Ask again, or choose another model")}

// namedError is an error with a name for clients.
type namedError struct {
	name string
	error
}

// ErrorName identifies the error for clients.
func (e *namedError) ErrorName() string { return e.name }

// Unwrap returns the error below.
func (e *namedError) Unwrap() error { return e.error }

// TerminalResponse makes sure that a run ends with text. After an empty answer the model is asked once more; the second
// time the run fails with an explanation.
func TerminalResponse() agent.Middleware {
	asked := 0
	return agent.Middleware{
		Name: "terminal_response",
		WrapModel: func(next agent.ModelFunc) agent.ModelFunc {
			return func(ctx context.Context, t *agent.Turn, req *agent.Request) (*agent.Message, error) {
				if asked == 1 && len(req.Tools) > 0 {
					addNote(req, "terminal_response",
						"You stopped without an answer. Write the answer for the user now, from what you have found, or go on with the work.")
				}
				return next(ctx, t, req)
			}
		},
		AfterModel: func(_ context.Context, _ *agent.Turn, r *agent.Reply) error {
			m := r.Message
			if strings.TrimSpace(m.Content.String()) != "" || len(m.Calls()) > 0 || r.Jump != agent.Continue {
				if len(m.Calls()) > 0 {
					asked = 0 // the model called tools again
				}
				return nil
			}
			switch {
			case r.Final:
				r.Message = withText(m,
					"I had to stop here without a full answer. What was done so far stands above; write to go on.")
			case wire.Limited(finish(m)):
				// asking again doesn't lift the answer limit: LengthStop reports it
			case asked == 0:
				asked++
				r.Jump = agent.ToModel
			default:
				r.Message = withText(m, sentence(errNoAnswer.Error())).With(agent.ErrorFallback, true)
				return errNoAnswer
			}
			return nil
		},
	}
}

// StopLength is the stop reason of a run whose answer reached the model's limit, StopCut of one whose provider broke it
// off.
const (
	StopLength = "model_length_capped"
	StopCut    = "model_cut_off"
)

// LengthStop marks an answer cut off by the model's limit.
func LengthStop() agent.Middleware {
	return agent.Middleware{
		Name: "length_stop",
		AfterModel: func(_ context.Context, _ *agent.Turn, r *agent.Reply) error {
			if len(r.Message.Calls()) > 0 || r.StopReason != "" {
				return nil
			}
			if !wire.Limited(finish(r.Message)) {
				return nil
			}
			r.StopReason = StopLength
			if strings.TrimSpace(r.Message.Content.String()) == "" {
				r.Message = withText(r.Message, "The answer was cut off: the model reached its limit before it wrote anything.")
			}
			return nil
		},
	}
}

// finish returns the reason why the provider ended an answer, in lower case.
func finish(m *agent.Message) string {
	for _, key := range []string{"finish_reason", "stop_reason"} {
		if s, ok := m.Meta[key].(string); ok && s != "" {
			return strings.ToLower(s)
		}
	}
	return ""
}

// SafetyStop handles an answer stopped by the provider for safety: incomplete calls are never run, and a blank answer
// gets a text.
func SafetyStop() agent.Middleware {
	return agent.Middleware{
		Name: "safety_stop",
		AfterModel: func(_ context.Context, t *agent.Turn, r *agent.Reply) error {
			m := r.Message
			reason := finish(m)
			if !isSafetyStop(reason) || len(m.Calls()) == 0 && strings.TrimSpace(m.Content.String()) != "" {
				return nil
			}
			names := []string{}
			for _, c := range m.ToolCalls {
				names = append(names, c.Name)
			}
			for _, c := range m.Invalid {
				names = append(names, c.Name)
			}
			about := map[string]any{"detector": "finish_reason", "reason_field": "finish_reason",
				"reason_value": reason, "suppressed_tool_call_count": len(names), "suppressed_tool_call_names": names,
				"extras": map[string]any{}}
			text := "The model provider broke this answer off for safety reasons."
			if len(names) > 0 {
				text += " What it wanted to do was not done."
			}
			r.Message = withText(withoutCalls(m), text).With("safety_termination", about)
			r.StopReason = "safety_capped"
			t.Log.Warn("provider stopped an answer for safety", "reason", reason, "calls", len(names))
			event := map[string]any{"type": "safety_termination", "thread_id": t.ThreadID, "message_id": m.ID}
			for k, v := range about {
				event[k] = v
			}
			if data, err := agent.Encode(event); err == nil {
				t.Sink.Emit(agent.Event{Kind: agent.EventCustom, NS: t.NS, Data: data})
			}
			return nil
		},
	}
}

func isSafetyStop(reason string) bool {
	return wire.Blocked(reason)
}
