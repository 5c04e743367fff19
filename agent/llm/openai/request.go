package openai

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"sync"

	client "github.com/sashabaranov/go-openai"

	"fawn/agent"
)

// outgoing is a request in go-openai's types, plus the fields they lack. The messages are separate so that they are
// encoded once rather than once per layer.
type outgoing struct {
	request  client.ChatCompletionRequest
	body     map[string]any
	messages []client.ChatCompletionMessage
	fields   map[int]map[string]any // fields of single messages, replacing their own
}

// set sets a field of the last appended message.
func (o *outgoing) set(key string, value any) {
	at := len(o.messages) - 1
	if o.fields == nil {
		o.fields = map[int]map[string]any{}
	}
	if o.fields[at] == nil {
		o.fields[at] = map[string]any{}
	}
	o.fields[at][key] = value
}

// build converts a request. The model's name, limits, temperature, effort and tools bypass go-openai's types, which
// would check them against a list of models or drop zeros.
func (m *Model) build(req *agent.Request) outgoing {
	o := outgoing{
		request: client.ChatCompletionRequest{Stream: true,
			StreamOptions: &client.StreamOptions{IncludeUsage: true}},
		body: map[string]any{},
	}
	system, list := m.taken.shape(req)
	if m.cfg.Dialect.JoinUsers {
		list = joinUsers(list)
	}
	if system != "" {
		o.messages = append(o.messages, client.ChatCompletionMessage{Role: client.ChatMessageRoleSystem,
			Content: system})
	}
	echoed := m.cfg.Dialect.echoed(list)
	for i, msg := range list {
		m.add(&o, msg, echoed != nil && echoed[i], req.Options.Thinking)
	}
	if len(req.Tools) > 0 {
		o.body["tools"] = m.cfg.Lessons.tools.encoded(req.Tools, m.cfg.Dialect.SchemaWithout)
	}
	m.options(o.body, req.Options)
	if len(req.Tools) == 0 {
		delete(o.body, "parallel_tool_calls") // refused without tools
	}
	m.drop(o.body)
	return o
}

func (m *Model) options(body map[string]any, opt agent.ModelOptions) {
	d := &m.cfg.Dialect
	if n := firstSet(opt.MaxTokens, m.cfg.MaxTokens); n > 0 {
		body[d.limit(m.cfg.Model)] = n
	}
	if t := opt.Temperature; t != nil {
		body["temperature"] = *t
	} else if t := m.cfg.Temperature; t != nil {
		body["temperature"] = *t
	}
	merge(body, d.Body)
	merge(body, m.cfg.ExtraBody)
	if opt.Thinking {
		merge(body, m.cfg.ThinkingOn)
	}
	if m.cfg.Effort && opt.Effort != "" {
		merge(body, d.effort(opt.Effort))
	}
	if !opt.Thinking {
		merge(body, m.cfg.ThinkingOff)
	}
	body["model"] = m.cfg.Model
	delete(body, "stream")
	delete(body, "messages")
}

// drop removes refused fields. The nil removes values set by go-openai.
func (m *Model) drop(body map[string]any) {
	for _, field := range m.dropped {
		body[field] = nil
	}
}

func firstSet(a, b int) int {
	if a > 0 {
		return a
	}
	return b
}

// merge lays src over dst, objects key by key. dst shares nothing with src that is written.
func merge(dst, src map[string]any) {
	for k, v := range src {
		below, ok := v.(map[string]any)
		if !ok {
			dst[k] = v
			continue
		}
		if old, ok := dst[k].(map[string]any); ok {
			joined := maps.Clone(old)
			merge(joined, below)
			dst[k] = joined
			continue
		}
		dst[k] = v
	}
}

// add appends one message. Names are never sent: several providers refuse them.
func (m *Model) add(o *outgoing, msg *agent.Message, echo, thinking bool) {
	list := &o.messages
	switch msg.Type {
	case agent.TypeSystem:
		*list = append(*list, client.ChatCompletionMessage{Role: client.ChatMessageRoleSystem,
			Content: msg.Content.String()})
	case agent.TypeTool:
		text := msg.Content.String()
		*list = append(*list, client.ChatCompletionMessage{Role: client.ChatMessageRoleTool, Content: text,
			ToolCallID: m.cfg.Dialect.callID(msg.ToolCallID)})
		switch {
		case text == "" && m.taken.filled:
			o.set("content", nothing)
		case text == "":
			o.set("content", "")
		}
	case agent.TypeAI:
		m.addAnswer(o, msg, echo, thinking)
	case agent.TypeHuman:
		c := client.ChatCompletionMessage{Role: client.ChatMessageRoleUser}
		blocks, text := m.cfg.Dialect.userContent(msg.Content)
		c.Content = text
		*list = append(*list, c)
		switch {
		case blocks != nil:
			o.set("content", blocks)
		case text == "" && m.taken.filled:
			o.set("content", nothing)
		case text == "":
			o.set("content", "")
		}
	}
}

func (m *Model) addAnswer(o *outgoing, msg *agent.Message, echo, thinking bool) {
	d := &m.cfg.Dialect
	c := client.ChatCompletionMessage{Role: client.ChatMessageRoleAssistant, Content: msg.Content.String()}
	extra, _ := msg.Kwargs[keyExtra].(map[string]any)
	if d.NoExtra {
		extra = nil
	}
	var calls []any
	mustSign := d.signs(m.cfg.Model) &&
		!slices.ContainsFunc(msg.ToolCalls, func(c agent.ToolCall) bool { return extra[c.ID] != nil })
	for i, call := range msg.ToolCalls {
		args := string(call.Args)
		if args == "" {
			args = "{}"
		}
		c.ToolCalls = append(c.ToolCalls, client.ToolCall{ID: d.callID(call.ID), Type: client.ToolTypeFunction,
			Function: client.FunctionCall{Name: call.Name, Arguments: args}})
		x := extra[call.ID]
		if mustSign && i == 0 {
			x = d.Signature
		}
		if x != nil {
			calls = append(calls, signedCall{c.ToolCalls[len(c.ToolCalls)-1], x})
		} else {
			calls = append(calls, c.ToolCalls[len(c.ToolCalls)-1])
		}
	}
	o.messages = append(o.messages, c)
	if c.Content == "" {
		switch {
		case m.taken.filled:
			o.set("content", nothing)
		case m.taken.noNull, len(calls) == 0:
			o.set("content", "")
		default:
			o.set("content", nil)
		}
	}
	if len(extra) > 0 || mustSign {
		if len(calls) > 0 {
			o.set("tool_calls", calls)
		}
		if x := extra[""]; x != nil {
			o.set("extra_content", x)
		}
	}
	if !echo {
		return
	}
	thought, _ := msg.Kwargs[keyReasoning].(string)
	if thought == "" && len(calls) > 0 && thinking {
		thought = d.Fill
	}
	if thought != "" {
		for _, key := range d.echoKeys() {
			o.set(key, thought)
		}
	}
	if details := msg.Kwargs[keyDetails]; details != nil {
		o.set(keyDetails, details)
	}
}

// signedCall is a call with its provider data, such as a signature.
type signedCall struct {
	client.ToolCall
	Extra any `json:"extra_content"`
}

// toolList caches the encoded tools of the last request. They are most of a short request, and nearly every call of a
// program has the same ones.
type toolList struct {
	mu      sync.Mutex
	tools   []agent.Tool // names, descriptions and schemas
	without []string
	json    encoded
}

// encoded returns the tools as chat completions take them, in schemas without the words the provider refuses.
func (l *toolList) encoded(list []*agent.Tool, without []string) any {
	l.mu.Lock()
	defer l.mu.Unlock()
	same := slices.EqualFunc(l.tools, list, func(a agent.Tool, b *agent.Tool) bool {
		return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.Schema, b.Schema)
	})
	if l.json != nil && same && slices.Equal(l.without, without) {
		return l.json
	}
	said := functions(list, without)
	b, err := json.Marshal(said)
	if err != nil {
		return said // encoding the request reports the same error
	}
	l.tools, l.without, l.json = make([]agent.Tool, len(list)), slices.Clone(without), b
	for i, t := range list {
		l.tools[i] = agent.Tool{Name: t.Name, Description: t.Description, Schema: t.Schema}
	}
	return l.json
}

func functions(list []*agent.Tool, without []string) []client.Tool {
	out := make([]client.Tool, len(list))
	for i, t := range list {
		schema := t.Schema
		if len(schema) == 0 {
			schema = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		if len(without) > 0 {
			schema = withoutWords(schema, without)
		}
		out[i] = client.Tool{Type: client.ToolTypeFunction, Function: &client.FunctionDefinition{
			Name: t.Name, Description: t.Description, Parameters: schema}}
	}
	return out
}
