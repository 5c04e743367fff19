package channels

import (
	"context"
	"encoding/json"
	"time"

	"fawn/store"
)

// Revoked ends deliveries to disconnected people and chats of a platform. It returns when nothing more is sent to them.
// Call it after revoking connections.
func (h *Hub) Revoked(ctx context.Context, provider string) error {
	open, err := h.cfg.DB.OpenAnswers(ctx, provider)
	if err != nil {
		return err
	}
	for _, first := range open {
		var to target
		if json.Unmarshal(first.Place, &to) != nil {
			continue
		}
		ok, err := h.wanted(ctx, provider, to)
		if err != nil {
			return err
		}
		if ok {
			continue
		}
		if b := h.bot(provider); b != nil {
			b.cancel(ctx, first.Run)
		}
		if err := h.cfg.DB.EndAnswer(ctx, first.Run, NotConnected); err != nil {
			return err
		}
	}
	return nil
}

// wanted reports whether an answer may still be written to its chat.
func (h *Hub) wanted(ctx context.Context, provider string, to target) (bool, error) {
	switch {
	case to.Whole:
		c, err := h.cfg.DB.ChannelChat(ctx, provider, to.To.Chat, "")
		if missing(err) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		return h.reaches(ctx, to.Owner, c)
	case to.Asker == nil:
		return true, nil
	}
	return h.owns(ctx, provider, to.Owner, *to.Asker)
}

// cancel stops a delivery and waits a limited time for the call in progress; notes that this call still writes are
// undone by refuse.
func (b *bot) cancel(ctx context.Context, run string) {
	b.mu.Lock()
	d := b.answers[run]
	b.mu.Unlock()
	if d == nil {
		return
	}
	d.revoked.Store(true)
	d.stop()
	select {
	case <-d.over:
	case <-time.After(stopTime):
	case <-ctx.Done():
	}
}

// refuse settles a cancelled answer after its last call.
func (d *delivery) refuse() {
	if !d.revoked.Load() {
		return
	}
	if err := d.b.h.cfg.DB.EndAnswer(d.b.calls, d.run, NotConnected); err != nil && d.b.calls.Err() == nil {
		d.b.h.cfg.Log.Error("couldn't drop a revoked answer", "channel", d.b.provider, "run", d.run, "err", err)
	}
}

// permitted returns false for an answer that may no longer be written to its chat, and settles it. Call it before the
// first call of each server.
func (d *delivery) permitted(ctx context.Context) (bool, error) {
	ok, err := d.b.h.wanted(ctx, d.b.provider, d.to)
	if ok || err != nil {
		return ok, err
	}
	return false, d.settle(ctx, store.OutboundFailed, NotConnected)
}
