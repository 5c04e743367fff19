package anthropic

import (
	"encoding/json"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"fawn/agent"
	"fawn/agent/llm/llmerr"
	"fawn/agent/llm/sse"
	"fawn/agent/llm/wire"
)

// content is a block of an answer.
type content = sdk.ContentBlockStartEventContentBlockUnion

// blockState is an open block.
type blockState struct {
	kind    string
	call    int    // place among the calls
	args    bool   // some were sent
	whole   string // arguments that came with the beginning
	thought int    // place among the thoughts
}

// answer is one stream being read.
type answer struct {
	yield func(agent.Chunk, error) bool

	model    string
	shown    bool // the model's name was yielded
	visible  bool
	usage    sdk.MessageDeltaUsage
	finish   string
	calls    int
	thoughts []thought
	blocks   map[int64]*blockState
}

// event handles the next event; done means that it was the last.
func (a *answer) event(ev sse.Event) (done bool, err error) {
	var e sdk.MessageStreamEventUnion
	err = json.Unmarshal(ev.Data, &e)
	if ev.Failed || err == nil && isError(e.Type, ev.Data) {
		return false, llmerr.FromStream(ev.Data)
	}
	if err != nil {
		if a.finish != "" {
			return false, nil // the answer is complete; only its end marker is broken
		}
		return false, wire.Garbled(ev.Data, err)
	}
	switch e.Type {
	case "message_start":
		u := e.Message.Usage
		a.model = e.Message.Model
		a.count(sdk.MessageDeltaUsage{InputTokens: u.InputTokens, OutputTokens: u.OutputTokens,
			CacheCreationInputTokens: u.CacheCreationInputTokens, CacheReadInputTokens: u.CacheReadInputTokens})
	case "content_block_start":
		return false, a.start(e.Index, &e.ContentBlock)
	case "content_block_delta":
		return false, a.delta(&e)
	case "content_block_stop":
		return false, a.stop(e.Index)
	case "message_delta":
		if e.Delta.StopReason != "" {
			a.finish = finish(e.Delta.StopReason)
		}
		a.count(e.Usage)
	case "message_stop":
		if a.finish == "" {
			return false, &llmerr.Error{Class: llmerr.ClassNetwork,
				Message: "the provider ended the answer without a reason", Err: llmerr.ErrCut}
		}
		return true, a.end()
	}
	return false, nil // pings, and events of later versions
}

// isError reports whether an event is a failure, which gateways write without a type.
func isError(kind string, data []byte) bool {
	var e struct {
		Error json.RawMessage `json:"error"`
	}
	return kind == "error" || kind == "" && json.Unmarshal(data, &e) == nil && len(e.Error) > 0
}

// finish converts a stop reason to the words that all providers share here.
func finish(stop sdk.StopReason) string {
	switch stop {
	case sdk.StopReasonEndTurn, sdk.StopReasonStopSequence, sdk.StopReasonPauseTurn:
		return "stop"
	case sdk.StopReasonToolUse:
		return "tool_calls"
	case sdk.StopReasonMaxTokens, "model_context_window_exceeded":
		return "length"
	}
	return string(stop) // refusal, and future reasons
}

// count updates the usage; later counts repeat or omit earlier ones.
func (a *answer) count(u sdk.MessageDeltaUsage) {
	a.usage.InputTokens, a.usage.OutputTokens = max(a.usage.InputTokens, u.InputTokens),
		max(a.usage.OutputTokens, u.OutputTokens)
	a.usage.CacheCreationInputTokens = max(a.usage.CacheCreationInputTokens, u.CacheCreationInputTokens)
	a.usage.CacheReadInputTokens = max(a.usage.CacheReadInputTokens, u.CacheReadInputTokens)
}

// show yields the visible content of an event.
func (a *answer) show(k agent.Chunk) error {
	if !k.Visible() {
		return nil
	}
	a.visible = true
	if !a.shown {
		k.Model, a.shown = a.model, a.model != ""
	}
	if !a.yield(k, nil) {
		return wire.ErrStopped
	}
	return nil
}

func (a *answer) start(index int64, b *content) error {
	s := &blockState{kind: b.Type}
	a.blocks[index] = s
	switch b.Type {
	case "text":
		return a.show(agent.Chunk{Text: b.Text})
	case "thinking":
		s.thought = len(a.thoughts)
		a.thoughts = append(a.thoughts, thought{Bytes: len(b.Thinking), Signature: b.Signature})
		return a.show(agent.Chunk{Reasoning: b.Thinking})
	case "redacted_thinking":
		a.thoughts = append(a.thoughts, thought{Hidden: b.Data})
	case "tool_use":
		s.call = a.calls
		a.calls++
		if raw := b.JSON.Input.Raw(); len(raw) > 2 && raw != "null" { // {} is only the beginning
			s.whole = raw
		}
		return a.show(agent.Chunk{Calls: []agent.CallDelta{{Index: s.call, ID: b.ID, Name: b.Name}}})
	}
	return nil
}

func (a *answer) delta(e *sdk.MessageStreamEventUnion) error {
	s := a.blocks[e.Index]
	if s == nil {
		s = &blockState{kind: "text"}
		a.blocks[e.Index] = s
	}
	switch e.Delta.Type {
	case "text_delta":
		return a.show(agent.Chunk{Text: e.Delta.Text})
	case "thinking_delta":
		if s.kind == "thinking" {
			a.thoughts[s.thought].Bytes += len(e.Delta.Thinking)
		}
		return a.show(agent.Chunk{Reasoning: e.Delta.Thinking})
	case "signature_delta":
		if s.kind == "thinking" {
			a.thoughts[s.thought].Signature += e.Delta.Signature
		}
	case "input_json_delta":
		if s.kind == "tool_use" && e.Delta.PartialJSON != "" {
			s.args = true
			return a.show(agent.Chunk{Calls: []agent.CallDelta{{Index: s.call, Args: e.Delta.PartialJSON}}})
		}
	}
	return nil
}

// stop ends a block. A call without arguments gets an empty object.
func (a *answer) stop(index int64) error {
	s := a.blocks[index]
	if s == nil || s.kind != "tool_use" || s.args {
		return nil
	}
	s.args = true
	if s.whole == "" {
		s.whole = "{}"
	}
	return a.show(agent.Chunk{Calls: []agent.CallDelta{{Index: s.call, Args: s.whole}}})
}

// whole reads an answer that is not streamed.
func (a *answer) whole(body []byte) error {
	var m sdk.Message
	if json.Unmarshal(body, &m) != nil || m.Type != "message" || m.StopReason == "" {
		return llmerr.FromStream(body)
	}
	a.model, a.finish = m.Model, finish(m.StopReason)
	a.count(sdk.MessageDeltaUsage{InputTokens: m.Usage.InputTokens, OutputTokens: m.Usage.OutputTokens,
		CacheCreationInputTokens: m.Usage.CacheCreationInputTokens, CacheReadInputTokens: m.Usage.CacheReadInputTokens})
	for i := range m.Content {
		var b content
		if err := b.UnmarshalJSON([]byte(m.Content[i].RawJSON())); err != nil {
			return wire.Garbled(body, err)
		}
		if err := a.start(int64(i), &b); err != nil {
			return err
		}
		if err := a.stop(int64(i)); err != nil {
			return err
		}
	}
	return a.end()
}

// end yields data that is known only at the end.
func (a *answer) end() error {
	c := a.usage
	if err := wire.Ended(a.finish); err != nil {
		return err
	}
	if !a.visible && len(a.thoughts) == 0 && a.finish == "stop" && c.OutputTokens == 0 {
		return wire.Empty()
	}
	u := &agent.Usage{Input: int(c.InputTokens + c.CacheReadInputTokens + c.CacheCreationInputTokens),
		Output: int(c.OutputTokens)}
	u.Total = u.Input + u.Output
	if c.CacheReadInputTokens > 0 || c.CacheCreationInputTokens > 0 {
		u.InputDetails = map[string]int{"cache_read": int(c.CacheReadInputTokens),
			"cache_creation": int(c.CacheCreationInputTokens)}
	}
	k := agent.Chunk{Finish: a.finish, Usage: u}
	if !a.shown {
		k.Model = a.model
	}
	if len(a.thoughts) > 0 {
		k.Kwargs = map[string]any{keyThoughts: a.thoughts}
	}
	if !a.yield(k, nil) {
		return wire.ErrStopped
	}
	return nil
}
