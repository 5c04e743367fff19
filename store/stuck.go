package store

import (
	"context"
	"sync/atomic"
	"time"
)

// slowAfter is how long one commit may take before the disk or the database counts as slow.
const slowAfter = 2 * time.Second

type patientKey struct{}

// Patiently returns a context for commits that must not be given up: the wait for one ends when it is written, when
// it failed, or when this process has lost the right to write, but by no clock and not when ctx ends. A wait that is
// cut short doesn't know what has become of the commit, which may still be written later.
func Patiently(ctx context.Context) context.Context {
	return context.WithValue(context.WithoutCancel(ctx), patientKey{}, true)
}

// outage is a time in which the database can't be reached. Until it begins, done is open and err isn't set.
type outage struct {
	done chan struct{}
	err  error
}

// goAway lets go whoever waits for a commit of something that can be asked for again, and refuses more of them until
// the database is back. Runs go on waiting.
func (w *writer) goAway(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.outage.err != nil {
		return
	}
	w.outage.err, w.health = err, err
	close(w.outage.done)
	w.log.Warn("the database cannot be reached; runs wait for it", "err", err)
}

// comeBack ends an outage, with mu held.
func (w *writer) comeBack() {
	if w.outage.err != nil {
		w.outage = &outage{done: make(chan struct{})}
	}
}

// slowness is since when the writer waits for a commit, and how often that took long.
type slowness struct {
	since atomic.Int64 // nanoseconds of Unix, 0 for no commit under way
	times atomic.Uint64
}

func (s *slowness) begin() (end func()) {
	began := time.Now()
	s.since.Store(began.UnixNano())
	return func() {
		s.since.Store(0)
		if time.Since(began) >= slowAfter {
			s.times.Add(1)
		}
	}
}

// Slow says for how long a commit has been waiting for the disk or the database, 0 while none waits for long, and how
// many have done so since the start.
func (db *DB) Slow() (now time.Duration, times uint64) {
	times = db.w.slow.times.Load()
	since := db.w.slow.since.Load()
	if since == 0 {
		return 0, times
	}
	if now = time.Since(time.Unix(0, since)); now < slowAfter {
		return 0, times
	}
	return now, times + 1
}
