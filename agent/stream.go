package agent

import "context"

// stream returns the innermost ModelFunc: it shows each chunk under the message's future id. Nothing is shown before
// the first visible output, so a call that fails earlier leaves no trace and can be retried: it returns no message.
func (a *Agent) stream(ctx context.Context, t *Turn, req *Request) (msg *Message, err error) {
	id := t.NewID()
	var c Collector
	var held []Chunk

	partial := func() *Message {
		if c.Empty() {
			return nil
		}
		return c.Message(id, false)
	}
	model := a.Model
	if req.Model != nil {
		model = req.Model
	}
	call := watch(t, model, req)
	defer func() { call.ended(ctx, t, msg, err) }()
	for k, err := range model.Stream(ctx, req) {
		if err != nil {
			return partial(), err
		}
		c.Add(k)
		if c.Empty() {
			held = holdBack(held, k)
			continue
		}
		call.saw()
		for i := range held {
			t.emit(id, &held[i])
		}
		held = nil
		t.emit(id, &k)
	}
	if err := ctx.Err(); err != nil {
		return partial(), context.Cause(ctx)
	}
	for i := range held {
		t.emit(id, &held[i])
	}
	return c.Message(id, true), nil
}

// holdBack keeps the metadata of chunks without visible content, which is little. It drops chunks that only keep a
// connection alive.
func holdBack(held []Chunk, k Chunk) []Chunk {
	if k.Usage == nil && k.Finish == "" && k.Model == "" && len(k.Kwargs) == 0 || len(held) >= 64 {
		return held
	}
	return append(held, k)
}

// emit shows a chunk of a message. It is not inlined: an event has half a kilobyte, for which the
// stack of each stream that waits would keep room.
//
//go:noinline
func (t *Turn) emit(id string, k *Chunk) {
	t.Sink.Emit(Event{Kind: EventChunk, NS: t.NS, Message: id, Chunk: *k})
}
