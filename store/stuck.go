package store

import (
	"context"
	"sync"
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

// failWaiting fails waiting commits that callers can repeat, and refuses more of them until
// the database is back. Runs go on waiting.
func (w *writer) failWaiting(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.outage.err != nil {
		return
	}
	w.outage.err, w.health = err, err
	close(w.outage.done)
	w.log.Warn("database unreachable; runs are waiting", "err", err)
}

// comeBack ends an outage, with mu held.
func (w *writer) comeBack() {
	if w.outage.err != nil {
		w.outage = &outage{done: make(chan struct{})}
	}
}

// slowness records since when the writer waits for a commit, how often that took long, and the watchers.
type slowness struct {
	since  atomic.Int64 // nanoseconds behind origin, 0 for nothing under way
	times  atomic.Uint64
	spare  atomic.Bool // what is under way is housekeeping, which counts as soon as something waits behind it
	busy   func() bool // whether something waits; constant, like origin
	origin time.Time   // by the clock that never jumps

	mu       sync.Mutex // guards what follows
	timer    *time.Timer
	slow     bool // those who watch are to know of it
	watchers map[*watcher]bool
}

// watcher is notified when commits stall, one call after the other.
type watcher struct {
	tell  func(waiting bool)
	calls sync.WaitGroup

	mu   sync.Mutex // held while tell is called
	said bool
}

// begin notes that something is being written; spare says that nobody asked for it.
func (s *slowness) begin(spare bool) (end func()) {
	s.spare.Store(spare)
	s.since.Store(int64(time.Since(s.origin)) + 1)
	s.mu.Lock()
	if s.timer == nil {
		s.timer = time.AfterFunc(slowAfter, s.look)
	} else {
		s.timer.Reset(slowAfter)
	}
	s.mu.Unlock()
	return func() {
		now, _ := s.now()
		s.since.Store(0)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.timer.Stop()
		if now > 0 || s.slow {
			s.times.Add(1)
		}
		s.turn(false)
	}
}

// now is for how long a commit has been waited for, 0 while that is usual. ahead is when to look again.
func (s *slowness) now() (slow, ahead time.Duration) {
	since := s.since.Load()
	if since == 0 {
		return 0, 0
	}
	took := time.Since(s.origin) - time.Duration(since-1)
	switch {
	case took < slowAfter:
		return 0, slowAfter - took
	case s.spare.Load() && !s.busy():
		return 0, slowAfter / 4
	}
	return took, 0
}

// look notifies watchers when a stall has lasted long enough.
func (s *slowness) look() {
	s.mu.Lock()
	defer s.mu.Unlock()
	slow, ahead := s.now()
	if slow > 0 {
		s.turn(true)
	} else if ahead > 0 {
		s.timer.Reset(ahead)
	}
}

// turn notifies all watchers of a change, with mu held.
func (s *slowness) turn(slow bool) {
	if s.slow == slow {
		return
	}
	s.slow = slow
	for w := range s.watchers {
		w.calls.Go(func() { s.tell(w) })
	}
}

// tell calls a watcher if its last notification is out of date.
func (s *slowness) tell(w *watcher) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s.mu.Lock()
	slow := s.slow
	s.mu.Unlock()
	if slow != w.said {
		w.said = slow
		w.tell(slow)
	}
}

// OnWait calls tell with true when a commit has been under way for two seconds, at once if that is so already, and
// with false when commits are quick again. Calls come one after the other from a goroutine of their own, so they may
// block. stop ends the calls, after one that is under way.
func (db *DB) OnWait(tell func(waiting bool)) (stop func()) {
	s, w := &db.w.slow, &watcher{tell: tell}
	s.mu.Lock()
	if s.watchers == nil {
		s.watchers = map[*watcher]bool{}
	}
	s.watchers[w] = true
	if s.slow {
		w.calls.Go(func() { s.tell(w) })
	}
	s.mu.Unlock()
	return func() {
		s.mu.Lock()
		delete(s.watchers, w)
		s.mu.Unlock()
		w.calls.Wait()
	}
}

// Slow tells for how long a commit has been waited for now, 0 while none takes longer than two seconds, and how many
// ever took longer.
func (db *DB) Slow() (now time.Duration, times uint64) {
	times = db.w.slow.times.Load()
	if now, _ = db.w.slow.now(); now > 0 {
		times++
	}
	return now, times
}
