package channels

import (
	"context"
	"fmt"

	"fawn/agent/runs"
)

// Status returns the state of a platform's bot; ok reports whether it exists.
func (h *Hub) Status(provider string) (s Status, ok bool) {
	b := h.bot(provider)
	if b == nil && h.cfg.Elsewhere != nil {
		return h.cfg.Elsewhere(provider)
	}
	if b == nil {
		return s, false
	}
	b.mu.Lock()
	s = b.status
	s.Me = b.me
	b.mu.Unlock()
	s.Waiting = int(b.waiting.Load())
	s.RateLimited = b.pace.Limited()
	return s, true
}

// Await waits until the bot of a platform is connected or has failed, or ctx ends.
func (h *Hub) Await(ctx context.Context, provider string) (Status, bool) {
	for {
		b := h.bot(provider)
		if b == nil {
			return Status{}, false
		}
		b.mu.Lock()
		changed, settled := b.changed, b.status.Running || b.status.Error != ""
		b.mu.Unlock()
		if settled {
			return h.Status(provider)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return h.Status(provider)
		}
	}
}

// Retry sends the answer of a run again. Errors: ErrNoBot, runs.ErrNotFound, runs.ErrBusy while it is being sent.
func (h *Hub) Retry(ctx context.Context, run string) error {
	rows, err := h.cfg.DB.Outbound(ctx, run)
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return fmt.Errorf("answer of run %s: %w", run, runs.ErrNotFound)
	}
	b := h.bot(rows[0].Provider)
	if b == nil || b.channel() == nil {
		return ErrNoBot
	}
	if b.delivering(run) {
		return fmt.Errorf("answer of run %s: %w", run, runs.ErrBusy)
	}
	return b.renew(ctx, run)
}

func (b *bot) delivering(run string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.answers[run] != nil
}
