package middleware

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"fawn/agent"
)

// askTool is the tool handled by this stage.
const askTool = "ask_clarification"

// clarificationIcon shows at a glance why the agent asks.
func clarificationIcon(kind string) string {
	switch kind {
	case "ambiguous_requirement":
		return "🤔"
	case "approach_choice":
		return "🔀"
	case "risk_confirmation":
		return "⚠️"
	case "suggestion":
		return "💡"
	}
	return "❓"
}

// Clarification turns a call of ask_clarification into a question to the user: a readable tool message, with
// artifact.human_input for clients that render it, and the end of the run once the answer's other calls are done. The
// user's next message is the answer. It must be the innermost stage, so that no other takes the question for a tool's
// result.
func Clarification() agent.Middleware {
	return agent.Middleware{
		Name: "clarification",
		WrapTool: func(next agent.ToolFunc) agent.ToolFunc {
			return func(ctx context.Context, t *agent.Turn, c agent.ToolCall) (agent.Result, error) {
				if c.Name != askTool {
					return next(ctx, t, c)
				}
				q, problem := readQuestion(c.Args)
				if problem != "" {
					return agent.ErrorResult("Error: " + problem), nil
				}
				t.Log.Info("[ClarificationMiddleware] Intercepted clarification request", "type", q.Kind)
				if t.Options.DisableClarification || t.Options.NonInteractive {
					return agent.TextResult(
						"Nobody can answer questions in this run. Go on with your best judgement, and say in the answer what you assumed."), nil
				}
				return q.ask(t, c)
			}
		},
	}
}

// ask returns the result that ends the run.
func (q question) ask(t *agent.Turn, c agent.ToolCall) (agent.Result, error) {
	id := questionID(t, c.ID)
	artifact, err := agent.Encode(map[string]any{"human_input": q.request(id, c.ID)})
	if err != nil {
		return agent.Result{}, fmt.Errorf("encode question: %w", err)
	}
	return agent.Result{Content: agent.Text(q.text()), Artifact: artifact, MessageID: id, End: true}, nil
}

// questionID derives the tool message's id from its call, so that clients can match answers to questions. Models may
// repeat call ids; message ids are unique.
func questionID(t *agent.Turn, call string) string {
	if call == "" || len(call) > 200 || strings.ContainsFunc(call, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		sum := sha256.Sum256([]byte(call))
		call = hex.EncodeToString(sum[:])[:16]
	}
	id := "clarification:" + call
	if t.State.Message(id) != nil {
		id += ":" + t.NewID()
	}
	return id
}

// text returns the question as plain words, for people and for the model's later turns.
func (q question) text() string {
	var b strings.Builder
	b.WriteString(clarificationIcon(q.Kind) + " ")
	if q.Context != "" {
		b.WriteString(q.Context + "\n\n")
	}
	b.WriteString(q.Text)
	if len(q.Fields) > 0 {
		b.WriteString("\n")
		for _, f := range q.Fields {
			fmt.Fprintf(&b, "\n  - %s", f.Label)
			if f.Required {
				b.WriteString(" *")
			}
			for i, o := range f.Options {
				b.WriteString([]string{": ", ", "}[min(i, 1)] + o.Label)
			}
		}
		return b.String()
	}
	if len(q.Options) > 0 {
		b.WriteString("\n")
		for i, o := range q.Options {
			fmt.Fprintf(&b, "\n  %d. %s", i+1, o)
		}
	}
	return b.String()
}
