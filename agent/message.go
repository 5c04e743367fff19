package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Message types as LangChain names them; [TypeRemove] deletes the message with its id.
const (
	TypeHuman  = "human"
	TypeAI     = "ai"
	TypeTool   = "tool"
	TypeSystem = "system"
	TypeRemove = "remove"
)

// RemoveAll as the id of a [TypeRemove] message drops everything before it in the same write.
const RemoveAll = "__remove_all__"

// ErrorFallback marks, in additional_kwargs, an AI message that tells people why there is no answer.
// Models never see it.
const ErrorFallback = "deerflow_error_fallback"

// Message is one entry of a conversation. It is immutable once it was part of a State:
// a change is a new value with the same ID.
type Message struct {
	ID         string
	Type       string // TypeHuman, TypeAI, TypeTool, TypeSystem or TypeRemove
	Name       string
	Content    Content
	ToolCalls  []ToolCall    // TypeAI only
	Invalid    []InvalidCall // TypeAI only: calls whose arguments weren't a JSON object
	ToolCallID string        // TypeTool only
	Status     string        // TypeTool only: "success" or "error"
	Artifact   json.RawMessage
	Usage      *Usage
	Kwargs     map[string]any // additional_kwargs
	Meta       map[string]any // response_metadata
}

// ToolCall is a model's request to run a tool. Args is a JSON object; ID links the result to the call.
type ToolCall struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
	ID   string          `json:"id"`
}

// MarshalJSON adds the constant type field expected by LangChain clients.
func (c ToolCall) MarshalJSON() ([]byte, error) {
	args := c.Args
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	type wire struct {
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
		ID   string          `json:"id"`
		Type string          `json:"type"`
	}
	return marshal(wire{c.Name, args, c.ID, "tool_call"})
}

// InvalidCall is a tool call with unreadable arguments; Args holds them verbatim.
type InvalidCall struct {
	Name  string `json:"name"`
	Args  string `json:"args"`
	ID    string `json:"id"`
	Error string `json:"error"`
}

// MarshalJSON adds the constant type field expected by LangChain clients.
func (c InvalidCall) MarshalJSON() ([]byte, error) {
	type plain InvalidCall
	return marshal(struct {
		plain
		Type string `json:"type"`
	}{plain(c), "invalid_tool_call"})
}

// Usage counts tokens of one model call. Model is the configured name of the called model and Cost the price at the
// time, if known. Both are stored because prices and models change later.
type Usage struct {
	Input         int            `json:"input_tokens"`
	Output        int            `json:"output_tokens"`
	Total         int            `json:"total_tokens"`
	InputDetails  map[string]int `json:"input_token_details,omitempty"`
	OutputDetails map[string]int `json:"output_token_details,omitempty"`
	Model         string         `json:"model,omitempty"`
	Cost          float64        `json:"cost,omitempty"`
	Currency      string         `json:"currency,omitempty"`
}

// Content is a message's body: plain text, or a list of blocks which are kept verbatim but
// for white space between their parts.
type Content struct {
	Text   string
	Blocks []json.RawMessage // if not nil, Text is empty
}

// Text returns plain content.
func Text(s string) Content { return Content{Text: s} }

// visible returns the content without control characters in its texts, see [Visible].
func (c Content) visible() Content {
	c.Text = Visible(c.Text)
	for i, b := range c.Blocks {
		var block map[string]json.RawMessage
		var text string
		if json.Unmarshal(b, &block) != nil || json.Unmarshal(block["text"], &text) != nil || Visible(text) == text {
			continue
		}
		plain, err := Encode(Visible(text))
		if err != nil {
			continue // a string always encodes
		}
		block["text"] = plain
		if b, err = Encode(block); err == nil {
			c.Blocks = slices.Clone(c.Blocks)
			c.Blocks[i] = b
		}
	}
	return c
}

// String returns the text a reader would see: Text, or all text blocks joined.
func (c Content) String() string {
	if c.Blocks == nil {
		return c.Text
	}
	var parts []string
	for _, raw := range c.Blocks {
		var b struct{ Type, Text string }
		if json.Unmarshal(raw, &b) == nil && b.Type == "text" {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// MarshalJSON writes a string or an array.
func (c Content) MarshalJSON() ([]byte, error) {
	if c.Blocks != nil {
		return marshal(c.Blocks)
	}
	return marshal(c.Text)
}

// UnmarshalJSON reads a string, an array of blocks (bare strings become text blocks), one
// block, or null.
func (c *Content) UnmarshalJSON(b []byte) error {
	b = bytes.TrimSpace(b)
	*c = Content{}
	if len(b) == 0 || string(b) == "null" {
		return nil
	}
	switch b[0] {
	case '"':
		return json.Unmarshal(b, &c.Text)
	case '{':
		block, err := compact(b)
		if err != nil {
			return err
		}
		c.Blocks = []json.RawMessage{block}
		return nil
	case '[':
		var blocks []json.RawMessage
		if err := json.Unmarshal(b, &blocks); err != nil {
			return err
		}
		for i, raw := range blocks {
			raw, err := compact(raw)
			switch {
			case err != nil:
				return err
			case raw[0] == '"':
				raw = json.RawMessage(`{"type":"text","text":` + string(raw) + `}`)
			case raw[0] != '{':
				return fmt.Errorf("content[%d] must be a string or an object", i)
			}
			blocks[i] = raw
		}
		c.Blocks = blocks
		return nil
	}
	return fmt.Errorf("content must be a string or a list of blocks")
}

// WireMessage is a message in the form that every API shows. One of the type remove has no other members than its id.
type WireMessage struct {
	Type       string          `json:"type"`
	ID         string          `json:"id"`
	Content    Content         `json:"content"`
	Kwargs     map[string]any  `json:"additional_kwargs"`
	Meta       map[string]any  `json:"response_metadata"`
	Name       *string         `json:"name"`
	ToolCalls  *[]ToolCall     `json:"tool_calls,omitempty"`
	Invalid    *[]InvalidCall  `json:"invalid_tool_calls,omitempty"`
	Usage      *Usage          `json:"usage_metadata,omitempty"`
	ToolCallID *string         `json:"tool_call_id,omitempty"`
	Status     string          `json:"status,omitempty"`
	Artifact   json.RawMessage `json:"artifact,omitempty"`
}

// MarshalJSON writes the canonical form every API shows (LangChain's "type" form).
func (m *Message) MarshalJSON() ([]byte, error) {
	if m.Type == TypeRemove {
		return marshal(struct {
			Type string `json:"type"`
			ID   string `json:"id"`
		}{TypeRemove, m.ID})
	}
	w := WireMessage{Type: m.Type, ID: m.ID, Content: m.Content, Kwargs: m.Kwargs, Meta: m.Meta,
		Usage: m.Usage, Status: m.Status}
	if m.Name != "" {
		w.Name = &m.Name
	}
	if w.Kwargs == nil {
		w.Kwargs = map[string]any{}
	}
	if w.Meta == nil {
		w.Meta = map[string]any{}
	}
	switch m.Type {
	case TypeAI:
		calls, invalid := m.ToolCalls, m.Invalid
		if calls == nil {
			calls = []ToolCall{}
		}
		if invalid == nil {
			invalid = []InvalidCall{}
		}
		w.ToolCalls, w.Invalid = &calls, &invalid
	case TypeTool:
		w.ToolCallID = &m.ToolCallID // even a blank one, or the message couldn't be decoded
		if w.Status == "" {
			w.Status = "success"
		}
		w.Artifact = m.Artifact
		if len(w.Artifact) == 0 {
			w.Artifact = json.RawMessage("null")
		}
	}
	return marshal(w)
}

// UnmarshalJSON reads the forms of [ParseMessage].
func (m *Message) UnmarshalJSON(b []byte) error {
	p, err := ParseMessage(b)
	if err != nil {
		return err
	}
	*m = *p
	return nil
}

// With returns a copy of m with additional_kwargs[key] = value.
func (m *Message) With(key string, value any) *Message {
	c := *m
	c.Kwargs = maps.Clone(m.Kwargs)
	if c.Kwargs == nil {
		c.Kwargs = map[string]any{}
	}
	c.Kwargs[key] = value
	return &c
}

// Flag reports whether additional_kwargs[key] is true.
func (m *Message) Flag(key string) bool {
	v, _ := m.Kwargs[key].(bool)
	return v
}

// Genuine reports whether a person wrote the message: human, no summary, and shown in the UI or an answer to a
// question.
func (m *Message) Genuine() bool {
	if m.Type != TypeHuman || m.Name == "summary" {
		return false
	}
	if m.Flag("hide_from_ui") {
		_, answer := m.Kwargs["human_input_response"].(map[string]any)
		return answer
	}
	return true
}

// Calls lists the ids of all calls of an AI message, valid ones first.
func (m *Message) Calls() []string {
	ids := make([]string, 0, len(m.ToolCalls)+len(m.Invalid))
	for _, c := range m.ToolCalls {
		ids = append(ids, c.ID)
	}
	for _, c := range m.Invalid {
		ids = append(ids, c.ID)
	}
	return ids
}

// LastGenuine returns the newest message written by a person, or nil.
func LastGenuine(msgs []*Message) *Message {
	for _, m := range slices.Backward(msgs) {
		if m.Genuine() {
			return m
		}
	}
	return nil
}

// marshal is json.Marshal without HTML escaping, so that stored bodies stay short and equal to the original.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// compact drops the white space a store would drop anyway, so that a value reads the same
// before and after it was stored.
func compact(raw []byte) (json.RawMessage, error) {
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Encode writes any value of this package in the form that is stored and sent.
func Encode(v any) ([]byte, error) { return marshal(v) }
