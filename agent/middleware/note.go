package middleware

import (
	"slices"
	"strconv"
	"strings"

	"fawn/agent"
)

// addNote appends a message for this request only. Providers allow no other message between a call and its result; at
// the end all do.
func addNote(req *agent.Request, kind, text string) {
	req.Messages = append(slices.Clip(req.Messages),
		&agent.Message{ID: "note:" + kind, Type: agent.TypeHuman, Name: kind, Content: agent.Text(text)})
}

// withText returns a copy of an AI message with a paragraph more.
func withText(m *agent.Message, more string) *agent.Message {
	c := *m
	if text := strings.TrimRight(m.Content.String(), "\n "); text != "" {
		more = text + "\n\n" + more
	}
	c.Content = agent.Text(more)
	return &c
}

// withoutCalls returns a copy of an AI message that ends its turn: no calls, valid or not.
func withoutCalls(m *agent.Message) *agent.Message {
	c := *m
	c.ToolCalls, c.Invalid = nil, nil
	c.Meta = map[string]any{}
	for k, v := range m.Meta {
		c.Meta[k] = v
	}
	if f, _ := c.Meta["finish_reason"].(string); f == "tool_calls" || f == "tool_use" || f == "function_call" {
		c.Meta["finish_reason"] = "stop"
	}
	return &c
}

// sinceQuestion returns the messages after the person's newest one.
func sinceQuestion(msgs []*agent.Message) []*agent.Message {
	for i, m := range slices.Backward(msgs) {
		if m.Genuine() {
			return msgs[i+1:]
		}
	}
	return msgs
}

// head returns the first n characters of a text.
func head(s string, n int) string { return agent.Head(s, n) }

func itoa(n int) string { return strconv.Itoa(n) }
