package channels

import (
	"errors"
	"maps"
	"time"

	"fawn/agent/channels/chat"
	"fawn/store"
)

// An Observer counts what bots do. Its methods are called by many goroutines and must be quick. All words besides the
// platform's name come from short fixed lists.
type Observer interface {
	// Update is a message that a platform delivered: new, duplicate, or unreadable.
	Update(provider, result string)
	// Refusal counts a refused message.
	Refusal(provider, reason string)
	// Call is a call that writes to a chat: send, edit or upload. The outcome is ok, rate, gone, refused, fatal or
	// error.
	Call(provider, call, outcome string)
	// Retry counts an answer that must be tried again.
	Retry(provider string)
	// Answer counts a delivery's outcome: delivered, failed or unknown, with its delay after the end of the run.
	Answer(provider, outcome string, lag time.Duration)
	// Reconnect is a connection that was lost.
	Reconnect(provider string)
}

// nobody is the no-op Observer of a Hub without one.
type nobody struct{}

func (nobody) Update(string, string)                {}
func (nobody) Refusal(string, string)               {}
func (nobody) Call(string, string, string)          {}
func (nobody) Retry(string)                         {}
func (nobody) Answer(string, string, time.Duration) {}
func (nobody) Reconnect(string)                     {}

// Load describes a bot's pending work.
type Load struct {
	Connected bool
	Waiting   int // messages that no run has taken
	Open      int // answers that are being delivered
}

// Loads returns the load of each platform's bot.
func (h *Hub) Loads() map[string]Load {
	h.mu.Lock()
	bots := maps.Clone(h.bots)
	h.mu.Unlock() // bots that hold their lock ask the hub
	all := map[string]Load{}
	for name, b := range bots {
		b.mu.Lock()
		all[name] = Load{Connected: b.status.Running, Waiting: int(b.waiting.Load()), Open: len(b.answers)}
		b.mu.Unlock()
	}
	return all
}

// countTaken counts a stored batch.
func (b *bot) countTaken(all int, fresh []store.Inbound) {
	o := b.h.cfg.Observer
	for range all - len(fresh) {
		o.Update(b.provider, "duplicate")
	}
	for _, row := range fresh {
		if row.State == store.InboundFailed {
			o.Update(b.provider, "unreadable")
		} else {
			o.Update(b.provider, "new")
		}
	}
}

// outcomeOf classifies the result of a call in one word.
func outcomeOf(err error) string {
	var rate *chat.Rate
	var gone *chat.Gone
	var never *chat.Refused
	var fatal *chat.Fatal
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &rate):
		return "rate"
	case errors.As(err, &gone):
		return "gone"
	case errors.As(err, &never):
		return "refused"
	case errors.As(err, &fatal):
		return "fatal"
	}
	return "error"
}

// countAnswer counts a delivery by its outcome.
func (d *delivery) countAnswer(state string) {
	outcome := "delivered"
	if state != store.OutboundDone {
		outcome = "failed"
	}
	for _, row := range d.rows {
		if row.State == store.OutboundUnknown {
			outcome = "unknown"
		}
	}
	d.mu.Lock()
	ended := d.endedAt
	d.mu.Unlock()
	var lag time.Duration
	if !ended.IsZero() {
		lag = time.Since(ended)
	}
	d.b.h.cfg.Observer.Answer(d.b.provider, outcome, lag)
}
