package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrMessage is wrapped by every error of [ParseMessage] and [ParseMessages].
var ErrMessage = errors.New("invalid message")

// serverKwargs are additional_kwargs only the server may write; they are dropped from input.
var serverKwargs = map[string]bool{
	"original_user_content": true, "dynamic_context_reminder": true,
	"reminder_date": true, "deerflow_view_image_context": true, "deerflow_error_fallback": true,
	"deerflow_tool_meta": true, "deerflow_read_mark": true, "skill_context_entry": true,
	"token_usage_attribution": true, "run_id": true, "timestamp": true,
}

// StripServerKwargs removes the keys only the server may write, and hide_from_ui unless
// the message answers a question. m must not be part of a State yet.
func StripServerKwargs(m *Message) {
	for k := range m.Kwargs {
		if serverKwargs[k] || strings.HasPrefix(k, "slash_skill_activation") || strings.HasPrefix(k, "subagent_") {
			delete(m.Kwargs, k)
		}
	}
	if _, answer := m.Kwargs["human_input_response"].(map[string]any); !answer {
		delete(m.Kwargs, "hide_from_ui")
	}
}

// MaxMessages limits the messages of one request.
const MaxMessages = 20_000

// ParseMessages reads a list of messages or a single one, each in any form that [ParseMessage] accepts. A two-string
// array is one message ("user", "hi"). The error names the index.
func ParseMessages(raw json.RawMessage) ([]*Message, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	if raw[0] != '[' {
		m, err := ParseMessage(raw)
		if err != nil {
			return nil, fmt.Errorf("messages: %w", err)
		}
		return []*Message{m}, nil
	}
	if m := parseTuple(raw); m != nil {
		return []*Message{m}, nil
	}
	var out []*Message
	d := json.NewDecoder(bytes.NewReader(raw))
	if _, err := d.Token(); err != nil {
		return nil, fmt.Errorf("messages: %w: %v", ErrMessage, err)
	}
	for d.More() { // one by one: an empty one takes a hundred times its encoded size
		if len(out) == MaxMessages {
			return nil, fmt.Errorf("messages: %w: want at most %d at once", ErrMessage, MaxMessages)
		}
		var r json.RawMessage
		if err := d.Decode(&r); err != nil {
			return nil, fmt.Errorf("messages: %w: %v", ErrMessage, err)
		}
		m, err := ParseMessage(r)
		if err != nil {
			return nil, fmt.Errorf("messages[%d]: %w", len(out), err)
		}
		out = append(out, m)
	}
	if _, err := d.Token(); err != nil {
		return nil, fmt.Errorf("messages: %w: %v", ErrMessage, err)
	}
	return out, nil
}

// ParseMessage reads one message: LangChain's {type, content}, OpenAI's {role, content,
// tool_calls[].function}, a LangChain constructor dump, a (role, text) pair, or a bare string.
func ParseMessage(raw json.RawMessage) (*Message, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return nil, fmt.Errorf("%w: empty", ErrMessage)
	}
	switch raw[0] {
	case '"':
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return nil, fmt.Errorf("%w: %v", ErrMessage, err)
		}
		return &Message{Type: TypeHuman, Content: Text(s)}, nil
	case '[':
		if m := parseTuple(raw); m != nil {
			return m, nil
		}
		return nil, fmt.Errorf("%w: an array must be a (role, text) pair of a human, ai or system message", ErrMessage)
	case '{':
		return parseObject(raw)
	}
	return nil, fmt.Errorf("%w: must be an object, a (role, text) pair or a string", ErrMessage)
}

// parseTuple reads a (role, text) pair, or returns nil. Tool results and removals need an
// id, for which a pair has no room.
func parseTuple(raw json.RawMessage) *Message {
	d := json.NewDecoder(bytes.NewReader(raw)) // the list may be long
	if open, err := d.Token(); err != nil || open != json.Delim('[') {
		return nil
	}
	var pair [2]string
	for i := range pair {
		word, err := d.Token()
		var ok bool
		if pair[i], ok = word.(string); err != nil || !ok {
			return nil
		}
	}
	if end, err := d.Token(); err != nil || end != json.Delim(']') {
		return nil
	}
	typ, ok := messageType(pair[0])
	if !ok || typ == TypeTool || typ == TypeRemove {
		return nil
	}
	return &Message{Type: typ, Content: Text(pair[1])}
}

// anyMessage is the union of all object forms.
type anyMessage struct {
	Type       string            `json:"type"`
	Role       string            `json:"role"`
	ID         json.RawMessage   `json:"id"`
	Name       *string           `json:"name"`
	Content    Content           `json:"content"`
	ToolCalls  []json.RawMessage `json:"tool_calls"`
	Invalid    []InvalidCall     `json:"invalid_tool_calls"`
	ToolCallID *string           `json:"tool_call_id"`
	Status     string            `json:"status"`
	Artifact   json.RawMessage   `json:"artifact"`
	Usage      *Usage            `json:"usage_metadata"`
	Kwargs     map[string]any    `json:"additional_kwargs"`
	Meta       map[string]any    `json:"response_metadata"`

	LC int `json:"lc"`
}

func parseObject(raw json.RawMessage) (*Message, error) {
	var a anyMessage
	if err := json.Unmarshal(raw, &a); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrMessage, err)
	}
	if a.LC == 1 && a.Type == "constructor" {
		var path []string
		if err := json.Unmarshal(a.ID, &path); err != nil || len(path) == 0 {
			return nil, fmt.Errorf("%w: constructor without a class path", ErrMessage)
		}
		class := path[len(path)-1]
		a = anyMessage{}
		if err := json.Unmarshal(raw, &struct {
			Kwargs *anyMessage `json:"kwargs"`
		}{&a}); err != nil {
			return nil, fmt.Errorf("%w: %v", ErrMessage, err)
		}
		a.Type = strings.ToLower(strings.TrimSuffix(strings.TrimSuffix(class, "Chunk"), "Message"))
	}
	kind := a.Type
	if kind == "" {
		kind = a.Role
	}
	if kind == "" {
		return nil, fmt.Errorf("%w: neither type nor role is given", ErrMessage)
	}
	typ, ok := messageType(kind)
	if !ok {
		return nil, fmt.Errorf("%w: unknown type %q (want human, ai, tool, system or remove)", ErrMessage, kind)
	}
	m := &Message{Type: typ, Content: a.Content, Kwargs: a.Kwargs, Meta: a.Meta}
	if len(a.ID) > 0 && string(a.ID) != "null" {
		if err := json.Unmarshal(a.ID, &m.ID); err != nil {
			return nil, fmt.Errorf("%w: id must be a string", ErrMessage)
		}
	}
	if a.Name != nil {
		m.Name = *a.Name
	}
	switch typ {
	case TypeAI:
		m.Usage = a.Usage
		m.Invalid = a.Invalid
		for i, r := range a.ToolCalls {
			if err := m.addCall(r); err != nil {
				return nil, fmt.Errorf("%w: tool_calls[%d]: %v", ErrMessage, i, err)
			}
		}
		m.nameCalls()
	case TypeTool:
		if a.ToolCallID == nil {
			return nil, fmt.Errorf("%w: a tool message needs tool_call_id", ErrMessage)
		}
		m.ToolCallID, m.Status = *a.ToolCallID, a.Status
		if len(a.Artifact) > 0 && string(a.Artifact) != "null" {
			m.Artifact = a.Artifact
		}
		if m.Status != "error" {
			m.Status = "success"
		}
	case TypeRemove:
		if m.ID == "" {
			return nil, fmt.Errorf("%w: remove needs an id", ErrMessage)
		}
	}
	return m, nil
}

// addCall reads LangChain's {name, args, id} or OpenAI's {id, function{name, arguments}}.
func (m *Message) addCall(raw json.RawMessage) error {
	var c struct {
		Name     string          `json:"name"`
		Args     json.RawMessage `json:"args"`
		ID       string          `json:"id"`
		Function *struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return err
	}
	if c.Name == "" && c.Function != nil {
		m.AddCall(c.ID, c.Function.Name, c.Function.Arguments)
		return nil
	}
	m.AddCall(c.ID, c.Name, string(c.Args))
	return nil
}

// nameCalls assigns every call an id, which results refer to.
func (m *Message) nameCalls() {
	n := 0
	name := func(id *string) {
		for *id == "" {
			if made := fmt.Sprintf("call_%d", n); !slices.Contains(m.Calls(), made) {
				*id = made
			}
			n++
		}
	}
	for i := range m.ToolCalls {
		name(&m.ToolCalls[i].ID)
	}
	for i := range m.Invalid {
		name(&m.Invalid[i].ID)
	}
}

// AddCall appends a tool call whose arguments are text. Text that isn't a JSON object is mended; if that fails it goes
// to Invalid with the reason. m must not be part of a State yet.
func (m *Message) AddCall(id, name, args string) {
	text := strings.TrimSpace(args)
	if text == "" || text == "null" {
		text = "{}"
	}
	if rest, ok := strings.CutPrefix(text, "{}"); ok && strings.HasPrefix(strings.TrimSpace(rest), "{") {
		text = strings.TrimSpace(rest) // some servers begin a stream of arguments with none
	}
	obj, err := compact([]byte(text))
	if err == nil && obj[0] != '{' {
		err = errors.New("not a JSON object")
	}
	if err != nil {
		if mended, failed := Mend(text, false); failed == nil {
			obj, err = mended, nil
		}
	}
	if err != nil {
		// In runes, as they will be stored: invalid bytes would otherwise be written differently after
		// they were read back.
		m.Invalid = append(m.Invalid, InvalidCall{Name: name, Args: string([]rune(args)), ID: id, Error: err.Error()})
		return
	}
	m.ToolCalls = append(m.ToolCalls, ToolCall{Name: name, Args: obj, ID: id})
}

func messageType(s string) (string, bool) {
	switch strings.TrimSuffix(s, "MessageChunk") {
	case "human", "user", "Human":
		return TypeHuman, true
	case "ai", "assistant", "AI":
		return TypeAI, true
	case "tool", "function", "Tool":
		return TypeTool, true
	case "system", "developer", "System":
		return TypeSystem, true
	case "remove":
		return TypeRemove, true
	}
	return "", false
}
