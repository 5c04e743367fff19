package openai

import (
	"context"
	"net/http"
	"path"
	"strings"

	"fawn/agent"
)

// keyItems is the key in additional_kwargs for the order of an answer's parts and its encrypted reasoning, which the
// Responses API expects back unchanged.
const keyItems = "output_items"

// useResponses reports whether the call goes to the Responses API.
func (m *Model) useResponses() bool {
	return m.cfg.Responses || startsWithAny(m.cfg.Model, m.cfg.Dialect.Responses)
}

// startsWithAny reports whether a model's name, without that of its maker, begins with one of these.
func startsWithAny(model string, heads []string) bool {
	name := path.Base(strings.ToLower(model))
	for _, h := range heads {
		if strings.HasPrefix(name, h) {
			return true
		}
	}
	return false
}

// respond makes the call to the Responses API. It is stateless: the whole conversation is sent each time, as with the
// other API.
func (m *Model) respond(ctx context.Context, req *agent.Request, c *call) (*http.Response, error) {
	c.body = m.responsesBody(req)
	r, err := http.NewRequestWithContext(context.WithValue(ctx, callKey{}, c), http.MethodPost,
		m.base+"/responses", strings.NewReader("{}"))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "text/event-stream")
	if m.cfg.APIKey != "" {
		r.Header.Set("Authorization", "Bearer "+m.cfg.APIKey)
	}
	resp, err := m.http.Do(r)
	switch {
	case c.failed != nil:
		return nil, c.failed
	case err != nil:
		return nil, err
	}
	resp.Body.Close() // it is empty: the call holds the real one
	return c.response, nil
}

// responsesBody converts the options to this API.
func (m *Model) responsesBody(req *agent.Request) object {
	body := object{}
	m.options(body, req.Options)
	for _, key := range []string{"max_tokens", "max_completion_tokens"} {
		if n, ok := body[key]; ok {
			body["max_output_tokens"] = n
			delete(body, key)
		}
	}
	if level, ok := body["reasoning_effort"]; ok {
		merge(body, object{"reasoning": object{"effort": level}})
		delete(body, "reasoning_effort")
	}
	delete(body, "stream_options")
	body["stream"], body["store"] = true, false
	if m.cfg.Effort || body["reasoning"] != nil || startsWithAny(m.cfg.Model, reasoners()) {
		body["include"] = []string{"reasoning.encrypted_content"}
	}
	m.drop(body)
	if req.System != "" {
		body["instructions"] = req.System
	}
	input := []any{}
	for _, msg := range req.Messages {
		input = m.item(input, msg)
	}
	body["input"] = input
	if len(req.Tools) == 0 {
		delete(body, "parallel_tool_calls")
		return body
	}
	var list []object
	for _, t := range functions(req.Tools, m.cfg.Dialect.SchemaWithout) {
		list = append(list, object{"type": "function", "name": t.Function.Name, "description": t.Function.Description,
			"parameters": t.Function.Parameters, "strict": false})
	}
	body["tools"] = list
	return body
}

// item appends the items of one message.
func (m *Model) item(input []any, msg *agent.Message) []any {
	switch msg.Type {
	case agent.TypeSystem:
		return append(input, object{"role": "developer", "content": msg.Content.String()})
	case agent.TypeTool:
		return append(input, object{"type": "function_call_output", "call_id": m.cfg.Dialect.callID(msg.ToolCallID),
			"output": msg.Content.String()})
	case agent.TypeAI:
		return m.answerItems(input, msg)
	case agent.TypeHuman:
		blocks, text := m.cfg.Dialect.userContent(msg.Content)
		if blocks == nil {
			return append(input, object{"role": "user", "content": text})
		}
		parts := []any{}
		for _, b := range blocks {
			parts = append(parts, inputPart(b))
		}
		return append(input, object{"role": "user", "content": parts})
	}
	return input
}

// inputPart returns a block of the other API in the shape of this one.
func inputPart(v any) any {
	b, _ := v.(object)
	switch b["type"] {
	case "text":
		return object{"type": "input_text", "text": b["text"]}
	case "image_url":
		image, _ := b["image_url"].(object)
		out := object{"type": "input_image", "image_url": image["url"]}
		if d := image["detail"]; d != nil {
			out["detail"] = d
		}
		return out
	case "file":
		file, _ := b["file"].(object)
		return object{"type": "input_file", "filename": file["filename"], "file_data": file["file_data"]}
	}
	return b
}

// answerItems returns the parts of an earlier answer in their original order. Answers of another model or API have no
// such order: text first, then calls.
func (m *Model) answerItems(input []any, msg *agent.Message) []any {
	said, called := false, map[string]bool{}
	var thought []any // refused without the part that followed it
	add := func(item object) {
		input = append(append(input, thought...), item)
		thought = nil
	}
	say := func() {
		if text := msg.Content.String(); text != "" && !said {
			add(object{"role": "assistant", "content": text})
		}
		said = true
	}
	call := func(c agent.ToolCall) {
		args := string(c.Args)
		if args == "" {
			args = "{}"
		}
		called[c.ID] = true
		add(object{"type": "function_call", "call_id": m.cfg.Dialect.callID(c.ID), "name": c.Name, "arguments": args})
	}
	kept, _ := msg.Kwargs[keyItems].([]any)
	for _, k := range kept {
		part, _ := k.(object)
		switch part["type"] {
		case "reasoning":
			thought = append(thought, part)
		case "message":
			say()
		case "function_call":
			for _, c := range msg.ToolCalls {
				if c.ID == part["call_id"] && !called[c.ID] {
					call(c)
				}
			}
		}
	}
	say()
	for _, c := range msg.ToolCalls {
		if !called[c.ID] {
			call(c)
		}
	}
	return input
}
