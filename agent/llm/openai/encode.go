package openai

import (
	"encoding/json"
	"maps"
	"sync"

	client "github.com/sashabaranov/go-openai"
)

// encoded is JSON sent unmodified. A json.RawMessage would be scanned once more.
type encoded []byte

// plain is a go-openai message without its custom encoder, whose output encoding/json would scan again.
type plain struct {
	Role             string                   `json:"role"`
	Content          string                   `json:"content,omitempty"`
	Refusal          string                   `json:"refusal,omitempty"`
	MultiContent     []client.ChatMessagePart `json:"-"`
	Name             string                   `json:"name,omitempty"`
	ReasoningContent string                   `json:"reasoning_content,omitempty"`
	FunctionCall     *client.FunctionCall     `json:"function_call,omitempty"`
	ToolCalls        []client.ToolCall        `json:"tool_calls,omitempty"`
	ToolCallID       string                   `json:"tool_call_id,omitempty"`
}

// opening is the system message of the last call and its JSON: it is long, and all calls of
// an agent begin with the same one.
type opening struct {
	mu   sync.Mutex
	text string
	json encoded
}

// encode is json.Marshal for a system message that is only text.
func (o *opening) encode(m *client.ChatCompletionMessage) (encoded, error) {
	o.mu.Lock()
	text, known := o.text, o.json
	o.mu.Unlock()
	if known != nil && text == m.Content {
		return known, nil
	}
	b, err := json.Marshal(plain{Role: m.Role, Content: m.Content})
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text, o.json = m.Content, b
	return b, nil
}

// encodeMessages encodes the list; fields override those of go-openai's type for the message with that index.
func encodeMessages(list []client.ChatCompletionMessage, fields map[int]map[string]any,
	first *opening) (encoded, error) {
	n := 2
	for i := range list {
		n += len(list[i].Content) + len(list[i].Content)/8 + 256
	}
	out := append(make(encoded, 0, n), '[')
	for i := range list {
		b, err := encodeMessage(&list[i], fields[i], first)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, b...)
	}
	return append(out, ']'), nil
}

func encodeMessage(m *client.ChatCompletionMessage, fields map[string]any, first *opening) (encoded, error) {
	switch {
	case fields != nil:
		return json.Marshal(withFields(m, fields))
	case m.Role == client.ChatMessageRoleSystem && m.Name == "" && m.MultiContent == nil:
		return first.encode(m)
	}
	return json.Marshal(plain(*m))
}

// withFields returns the message as an object, with the fields set.
func withFields(m *client.ChatCompletionMessage, fields map[string]any) map[string]any {
	out := map[string]any{"role": m.Role}
	if m.Content != "" {
		out["content"] = m.Content
	}
	if len(m.ToolCalls) > 0 {
		out["tool_calls"] = m.ToolCalls
	}
	if m.ToolCallID != "" {
		out["tool_call_id"] = m.ToolCallID
	}
	maps.Copy(out, fields)
	return out
}
