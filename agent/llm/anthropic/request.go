package anthropic

import (
	"encoding/json"
	"maps"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"fawn/agent"
)

type object = map[string]any

// build creates a request: the conversation in the SDK's types, and the options, which may be configured in any form,
// set on its body.
func (m *Model) build(req *agent.Request) (sdk.MessageNewParams, object) {
	options := object{"max_tokens": m.cfg.MaxTokens}
	if t := req.Options.Temperature; t != nil {
		options["temperature"] = *t
	} else if t := m.cfg.Temperature; t != nil {
		options["temperature"] = *t
	}
	if n := req.Options.MaxTokens; n > 0 {
		options["max_tokens"] = n
	}
	merge(options, m.cfg.ExtraBody)
	system, turns := m.turns(req)
	if req.Options.Thinking && !unthought(turns) {
		merge(options, m.cfg.ThinkingOn)
	} else {
		merge(options, m.cfg.ThinkingOff)
	}
	if e := req.Options.Effort; m.cfg.Effort && e != "" {
		if e == "minimal" {
			e = "low" // the lowest level
		}
		merge(options, object{"output_config": object{"effort": e}})
	}
	fitThinking(options)
	out := sdk.MessageNewParams{Model: m.cfg.Model, System: system, Messages: turns, Tools: tools(req.Tools)}
	if !m.cfg.NoCache {
		mark(&out)
	}
	own := map[string]bool{"model": true, "messages": true, "stream": true, "system": len(out.System) > 0,
		"tools": len(out.Tools) > 0}
	maps.DeleteFunc(options, func(k string, v any) bool { return v == nil || own[k] })
	return out, options
}

// fitThinking keeps the rules of thinking: the limit is above the budget, and the temperature is
// the provider's.
func fitThinking(body object) {
	thinking, _ := body["thinking"].(object)
	if thinking == nil || thinking["type"] == "disabled" {
		return
	}
	delete(body, "temperature")
	delete(body, "top_k")
	budget, _ := number(thinking["budget_tokens"])
	if limit, _ := number(body["max_tokens"]); budget >= limit {
		body["max_tokens"] = budget + defaultMaxTokens
	}
}

func number(v any) (int, bool) {
	switch v := v.(type) {
	case int:
		return v, true
	case int64:
		return int(v), true
	case float64:
		return int(v), true
	}
	return 0, false
}

// merge lays src over dst, objects key by key. dst shares nothing with src that is written.
func merge(dst, src object) {
	for k, v := range src {
		below, ok := v.(object)
		old, was := dst[k].(object)
		if ok && was {
			joined := maps.Clone(old)
			merge(joined, below)
			dst[k] = joined
			continue
		}
		dst[k] = v
	}
}

// turns converts the messages: system text separately, alternating roles, a person first.
func (m *Model) turns(req *agent.Request) (system []sdk.TextBlockParam, out []sdk.MessageParam) {
	instruct := func(text string) {
		if strings.TrimSpace(text) != "" {
			system = append(system, sdk.TextBlockParam{Text: text})
		}
	}
	add := func(role sdk.MessageParamRole, blocks ...sdk.ContentBlockParamUnion) {
		if len(blocks) == 0 {
			return
		}
		if n := len(out); n > 0 && out[n-1].Role == role {
			out[n-1].Content = append(out[n-1].Content, blocks...)
			return
		}
		if len(out) == 0 && role != sdk.MessageParamRoleUser {
			out = append(out, sdk.NewUserMessage(sdk.NewTextBlock("[The conversation goes on.]")))
		}
		out = append(out, sdk.MessageParam{Role: role, Content: blocks})
	}
	instruct(req.System)
	for _, msg := range req.Messages {
		switch msg.Type {
		case agent.TypeSystem:
			instruct(msg.Content.String())
		case agent.TypeAI:
			add(sdk.MessageParamRoleAssistant, answerBlocks(msg)...)
		case agent.TypeTool:
			add(sdk.MessageParamRoleUser, resultBlock(msg))
		default:
			add(sdk.MessageParamRoleUser, personBlocks(msg.Content)...)
		}
	}
	if len(out) == 0 {
		add(sdk.MessageParamRoleUser, sdk.NewTextBlock("[Nothing was said yet.]"))
	}
	return system, out
}

// unthought reports whether the current turn began with calls without a reusable thought, made by another model or with
// thinking off. Thinking then stays off until the turn ends.
func unthought(turns []sdk.MessageParam) bool {
	n := len(turns)
	if n < 2 || turns[n-1].Content[0].OfToolResult == nil {
		return false // a person spoke since
	}
	first := turns[n-2].Content[0]
	return first.OfThinking == nil && first.OfRedactedThinking == nil
}

// mark requests prompt caching up to the start of the conversation and up to its two newest turns, so that the next
// call reads this call's cache.
func mark(p *sdk.MessageNewParams) {
	cached := sdk.NewCacheControlEphemeralParam()
	if n := len(p.System); n > 0 {
		p.System[n-1].CacheControl = cached
	} else if n := len(p.Tools); n > 0 {
		p.Tools[n-1].OfTool.CacheControl = cached
	}
	left := 2
	for i := len(p.Messages) - 1; i >= 0 && left > 0; i-- {
		turn := p.Messages[i]
		at := turn.Content[len(turn.Content)-1].GetCacheControl()
		if at != nil && turn.Role == sdk.MessageParamRoleUser {
			*at = cached
			left--
		}
	}
}

func tools(list []*agent.Tool) []sdk.ToolUnionParam {
	out := make([]sdk.ToolUnionParam, len(list))
	for i, t := range list {
		schema := sdk.ToolInputSchemaParam{Properties: object{}}
		if len(t.Schema) > 0 {
			schema = param.Override[sdk.ToolInputSchemaParam](json.RawMessage(t.Schema))
		}
		out[i].OfTool = &sdk.ToolParam{Name: t.Name, Description: sdk.String(t.Description), InputSchema: schema}
	}
	return out
}
