package wire

import (
	"encoding/json"

	"fawn/agent"
	"fawn/agent/runs/runevent"
)

// blockLog writes a growing message in the thread protocol: one content block after the other, each started, extended
// and finished.
type blockLog struct {
	id     string
	ns     []string
	index  int // index of the open block, -1 before the first
	open   *block
	calls  map[int]*block // by the model's index
	finish runevent.Finish
}

// block is a piece of a message.
type block struct {
	index    int
	kind     string // text, reasoning or tool_call
	text     []byte // text of the block, or the arguments of the call
	id, name string // of the call
	shown    int    // bytes of arguments sent so far
}

// message adds one messages frame of b. run_id groups the frames for the client.
func (p *ProtocolEncoder) message(b *blockLog, data map[string]any) error {
	data["run_id"] = b.id
	return p.put("messages", "messages", b.ns, agent.NodeModel, data)
}

func newBlockLog(id, ns string) *blockLog {
	return &blockLog{id: id, ns: names(ns), index: -1, calls: map[int]*block{}}
}

// messageStart begins a message.
func (p *ProtocolEncoder) messageStart(b *blockLog) error {
	return p.message(b, map[string]any{"event": "message-start", "id": b.id, "role": "ai"})
}

// piece adds a delta to its message.
func (p *ProtocolEncoder) piece(b *blockLog, ev runevent.Event) error {
	switch ev.Kind {
	case runevent.KindText:
		return p.text(b, "text", ev.Text)
	case runevent.KindReasoning:
		return p.text(b, "reasoning", ev.Text)
	case runevent.KindCall:
		piece, err := runevent.DraftPiece(ev)
		if err != nil {
			return err
		}
		return p.arguments(b, piece.Calls[0])
	}
	var f runevent.Finish // only its usage is needed
	if err := json.Unmarshal(ev.Data, &f); err != nil {
		return err
	}
	if f.Finish != "" {
		b.finish.Finish = f.Finish
	}
	if f.Model != "" {
		b.finish.Model = f.Model
	}
	if len(f.Usage) > 0 {
		b.finish.Usage = f.Usage
	}
	return nil
}

// next finishes the open block and begins another.
func (p *ProtocolEncoder) next(b *blockLog, one *block, content map[string]any) error {
	if err := p.closeBlock(b); err != nil {
		return err
	}
	b.index++
	one.index, b.open = b.index, one
	return p.message(b, map[string]any{"event": "content-block-start", "index": one.index, "content": content})
}

func (p *ProtocolEncoder) text(b *blockLog, kind, piece string) error {
	if b.open == nil || b.open.kind != kind {
		if err := p.next(b, &block{kind: kind}, map[string]any{"type": kind, kind: ""}); err != nil {
			return err
		}
	}
	b.open.text = append(b.open.text, piece...)
	return p.message(b, map[string]any{"event": "content-block-delta", "index": b.open.index,
		"delta": map[string]any{"type": kind + "-delta", kind: piece}})
}

// arguments adds a delta to a tool call. A delta repeats the arguments so far, so only those that lengthen them
// noticeably are sent: the total stays linear in the length of the arguments.
func (p *ProtocolEncoder) arguments(b *blockLog, d agent.CallDelta) error {
	one := b.calls[d.Index]
	if one == nil {
		one = &block{kind: "tool_call", id: d.ID, name: d.Name}
		b.calls[d.Index] = one
		if err := p.next(b, one, map[string]any{"type": "tool_call_chunk", "id": orNull(d.ID), "name": orNull(d.Name),
			"args": ""}); err != nil {
			return err
		}
	}
	if d.ID != "" {
		one.id = d.ID
	}
	if d.Name != "" {
		one.name = d.Name
	}
	one.text = append(one.text, d.Args...)
	b.open = one
	if len(one.text)-one.shown <= one.shown/4 {
		return nil
	}
	one.shown = len(one.text)
	return p.message(b, map[string]any{"event": "content-block-delta", "index": one.index,
		"delta": map[string]any{"type": "block-delta",
			"fields": map[string]any{"type": "tool_call_chunk", "id": orNull(one.id), "name": orNull(one.name),
				"args": string(one.text)}}})
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// closeBlock sends the complete open block.
func (p *ProtocolEncoder) closeBlock(b *blockLog) error {
	one := b.open
	if one == nil {
		return nil
	}
	b.open = nil
	return p.message(b, map[string]any{"event": "content-block-finish", "index": one.index, "content": one.content()})
}

// content returns a finished block.
func (o *block) content() map[string]any {
	if o.kind != "tool_call" {
		return map[string]any{"type": o.kind, o.kind: string(o.text)}
	}
	args := o.text
	if len(args) == 0 {
		args = []byte("{}")
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(args, &object) != nil {
		return map[string]any{"type": "invalid_tool_call", "id": orNull(o.id), "name": orNull(o.name),
			"args": string(o.text), "error": "the arguments are not a JSON object"}
	}
	return map[string]any{"type": "tool_call", "id": orNull(o.id), "name": o.name, "args": json.RawMessage(args)}
}

// close ends a message.
func (p *ProtocolEncoder) close(b *blockLog) error {
	if err := p.closeBlock(b); err != nil {
		return err
	}
	data := map[string]any{"event": "message-finish"}
	if b.finish.Finish != "" {
		data["reason"] = b.finish.Finish
	}
	if len(b.finish.Usage) > 0 {
		data["usage"] = b.finish.Usage
	}
	if b.finish.Model != "" {
		data["metadata"] = map[string]string{"model_name": b.finish.Model}
	}
	return p.message(b, data)
}

// finishAll ends messages.
func (p *ProtocolEncoder) finishAll(grown []*runevent.Draft[*blockLog]) error {
	for _, m := range grown {
		if err := p.close(m.Own); err != nil {
			return err
		}
	}
	return nil
}

// settle sends a stored message of the model that wasn't streamed.
func (p *ProtocolEncoder) settle(ns string, body json.RawMessage, whole bool) error {
	if !whole {
		return nil
	}
	m, err := agent.ParseMessage(body)
	if err != nil {
		return err
	}
	if m.Type != agent.TypeAI {
		return nil // results of tools have a separate channel
	}
	b := newBlockLog(m.ID, ns)
	if err := p.messageStart(b); err != nil {
		return err
	}
	if text := m.Content.String(); text != "" {
		if err := p.text(b, "text", text); err != nil {
			return err
		}
	}
	for i, c := range m.ToolCalls {
		if err := p.arguments(b, agent.CallDelta{Index: i, ID: c.ID, Name: c.Name, Args: string(c.Args)}); err != nil {
			return err
		}
	}
	if m.Usage != nil {
		if b.finish.Usage, err = agent.Encode(m.Usage); err != nil {
			return err
		}
	}
	return p.close(b)
}
