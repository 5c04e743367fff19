package openai

import (
	"encoding/json"
	"maps"

	client "github.com/sashabaranov/go-openai"
)

// encoded is JSON that is sent as it is. A json.RawMessage would be gone through once more.
type encoded []byte

// plain is a message of go-openai without its own encoder, whose output encoding/json would
// read again from end to end.
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

// encodeMessages writes the list; fields stand in place of what go-openai's type says of the
// message with that index.
func encodeMessages(list []client.ChatCompletionMessage, fields map[int]map[string]any) (encoded, error) {
	n := 2
	for i := range list {
		n += len(list[i].Content) + len(list[i].Content)/8 + 256
	}
	out := append(make(encoded, 0, n), '[')
	for i := range list {
		var said any = plain(list[i])
		if own := fields[i]; own != nil {
			said = withFields(&list[i], own)
		}
		b, err := json.Marshal(said)
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

// withFields is the message as an object, with the fields set.
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
