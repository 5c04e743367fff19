package traceexport

import (
	"encoding/json"
	"slices"

	"go.opentelemetry.io/otel/attribute"

	"fawn/agent"
)

// maxPart limits the exported part of a message.
const maxPart = 4 << 10

// message is one in the form of the conventions.
type message struct {
	Role   string `json:"role"`
	Parts  []part `json:"parts"`
	Finish string `json:"finish_reason,omitempty"`
}

type part struct {
	Type      string          `json:"type"`
	Content   string          `json:"content,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Response  string          `json:"response,omitempty"`
}

// contents returns the prompt and the answer of a call; of a long prompt, its last messages.
func (t *Tracer) contents(c *agent.ModelCall) []attribute.KeyValue {
	var in []message
	for size, i := 0, len(c.Request.Messages)-1; i >= 0 && size < maxText; i-- {
		m := t.message(c.Request.Messages[i])
		in = append(in, m)
		for _, p := range m.Parts {
			size += len(p.Content) + len(p.Arguments) + len(p.Response) + 100
		}
	}
	slices.Reverse(in)
	out := []attribute.KeyValue{encoded("gen_ai.input.messages", in)}
	if c.Request.System != "" {
		out = append(out, encoded("gen_ai.system_instructions",
			[]part{{Type: "text", Content: t.clean(c.Request.System, maxText)}}))
	}
	if c.Message != nil {
		m := t.message(c.Message)
		m.Finish, _ = c.Message.Meta["finish_reason"].(string)
		out = append(out, encoded("gen_ai.output.messages", []message{m}))
	}
	return out
}

func encoded(key string, v any) attribute.KeyValue {
	b, err := agent.Encode(v)
	if err != nil { // the arguments aren't JSON
		return attribute.String(key, "[]")
	}
	return attribute.String(key, string(b))
}

func (t *Tracer) message(m *agent.Message) message {
	role := map[string]string{agent.TypeHuman: "user", agent.TypeAI: "assistant", agent.TypeTool: "tool",
		agent.TypeSystem: "system"}[m.Type]
	text := t.clean(m.Content.String(), maxPart)
	if m.Type == agent.TypeTool {
		return message{Role: role, Parts: []part{{Type: "tool_call_response", ID: m.ToolCallID, Response: text}}}
	}
	out := message{Role: role, Parts: []part{}}
	if thought, _ := m.Kwargs["reasoning_content"].(string); thought != "" {
		out.Parts = append(out.Parts, part{Type: "reasoning", Content: t.clean(thought, maxPart)})
	}
	if text != "" {
		out.Parts = append(out.Parts, part{Type: "text", Content: text})
	}
	for _, c := range m.ToolCalls {
		out.Parts = append(out.Parts, part{Type: "tool_call", ID: c.ID, Name: c.Name, Arguments: t.arguments(c.Args)})
	}
	return out
}

// arguments returns a call's arguments; too long ones as text.
func (t *Tracer) arguments(args json.RawMessage) json.RawMessage {
	text := t.redact(string(args))
	if len(text) <= maxPart && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	b, err := agent.Encode(agent.Head(text, maxPart))
	if err != nil {
		return nil
	}
	return b
}

// clean returns the beginning of a text, without secrets.
func (t *Tracer) clean(s string, n int) string {
	if len(s) > 2*n { // a secret at the cut must be complete to be found
		s = s[:2*n]
	}
	return agent.Head(t.redact(s), n)
}
