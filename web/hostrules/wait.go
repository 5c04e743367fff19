package hostrules

import (
	"context"
	"slices"
	"sync"
	"time"

	"fawn/agent"
	"fawn/sandbox/egress"
)

// Types of the events about a connection that is held until its question is answered.
const (
	TypeWaiting = "network_waiting"
	TypeRefused = "network_refused" // unanswered in time, or given up
)

// maxSilent limits the remembered threads with unanswered questions.
const maxSilent = 4096

// waits are the connections that are held. The zero value is ready for use.
type waits struct {
	mu     sync.Mutex
	open   map[string]*held  // by thread and host
	silent map[string]string // thread -> its run in which a question stayed without an answer
}

// held are the connections of a thread to one host.
type held struct {
	host     string
	n        int
	until    time.Time
	answered chan struct{}
	done     bool // answered is closed
}

// Await holds a connection until its question is answered: as long as Patience allows, and not again in a run after one
// timeout. It returns false without an answer.
func (d *Decisions) Await(ctx context.Context, q egress.Question) bool {
	if d.Patience == nil {
		return false
	}
	run, patience := d.Patience(ctx, q.Thread)
	if patience <= 0 || !d.asked(ctx, q) {
		return false
	}
	h, first := d.waits.join(q, run, patience)
	if h == nil {
		return false
	}
	answered := d.hold(ctx, q, h, first)
	if d.waits.remove(q, h, run) && !answered {
		d.tell(q, map[string]any{"type": TypeRefused, "thread_id": q.Thread, "host": q.Host})
	}
	return answered
}

// hold waits for the answer.
func (d *Decisions) hold(ctx context.Context, q egress.Question, h *held, first bool) bool {
	if first {
		d.tell(q, map[string]any{"type": TypeWaiting, "thread_id": q.Thread, "host": q.Host, "until": h.until})
	}
	if _, known, err := d.Lookup(ctx, q.Thread, q.Host); err != nil || known { // answered just now
		return known
	}
	timer := time.NewTimer(time.Until(h.until))
	defer timer.Stop()
	var look <-chan time.Time
	if d.db.Clustered() {
		ticker := time.NewTicker(lookEvery)
		defer ticker.Stop()
		look = ticker.C
	}
	for {
		select {
		case <-h.answered:
			return true
		case <-look:
			if d.elsewhere(ctx, q) {
				return true
			}
		case <-timer.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// lookEvery is the interval of checking for answers on other servers.
const lookEvery = 500 * time.Millisecond

// elsewhere reports whether a question was answered on another server, and notifies the local waiters.
func (d *Decisions) elsewhere(ctx context.Context, q egress.Question) bool {
	answer, known, err := d.Lookup(ctx, q.Thread, q.Host)
	if err != nil || !known {
		return false
	}
	if d.waits.answer(q.Thread, q.Host, answer) {
		d.tell(q, map[string]any{"type": TypeAnswer, "thread_id": q.Thread, "host": q.Host, "answer": answer})
	}
	return true
}

// Waiting reports whether a connection of a thread is held for a decision about a host.
func (d *Decisions) Waiting(thread, host string) bool {
	d.waits.mu.Lock()
	defer d.waits.mu.Unlock()
	h := d.waits.open[thread+" "+host]
	return h != nil && !h.done
}

// asked reports whether the question is visible to people.
func (d *Decisions) asked(ctx context.Context, q egress.Question) bool {
	open, err := d.questions(ctx, q.Thread)
	if err != nil {
		d.log.Warn("couldn't read a question about a host", "thread", q.Thread, "host", q.Host, "err", err)
	}
	return slices.ContainsFunc(open, func(o egress.Question) bool { return o.Host == q.Host })
}

func (d *Decisions) tell(q egress.Question, event map[string]any) {
	if data, err := agent.Encode(event); err == nil { // strings and times always encode
		d.announce(q.Thread, data)
	}
}

// join adds a connection to the held ones, nil if it shouldn't be held.
func (w *waits) join(q egress.Question, run string, patience time.Duration) (h *held, first bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.silent[q.Thread] == run {
		return nil, false
	}
	key := questionKey(q)
	h = w.open[key]
	if h == nil || h.done {
		h, first = &held{host: q.Host, until: time.Now().Add(patience).UTC(), answered: make(chan struct{})}, true
		if w.open == nil {
			w.open = map[string]*held{}
		}
		w.open[key] = h
	}
	h.n++
	return h, first
}

// remove removes a connection and reports whether it was the last one. After a timeout, connections of that run are no
// longer held.
func (w *waits) remove(q egress.Question, h *held, run string) (last bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !h.done && !time.Now().Before(h.until) {
		if w.silent == nil || len(w.silent) >= maxSilent {
			w.silent = map[string]string{}
		}
		w.silent[q.Thread] = run
	}
	h.n--
	if h.n == 0 && w.open[questionKey(q)] == h {
		delete(w.open, questionKey(q))
	}
	return h.n == 0
}

// answer releases the connections waiting for an answer, and reports whether there were any.
func (w *waits) answer(thread, host string, answer egress.Answer) (some bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.silent, thread)
	for key, h := range w.open {
		if h.host == host && !h.done && (answer == egress.Always || key == thread+" "+host) {
			h.done, some = true, true
			close(h.answered)
		}
	}
	return some
}
