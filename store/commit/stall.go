package commit

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// slowAfter is the duration of a commit from which the disk or database counts as slow.
const slowAfter = 2 * time.Second

type patientKey struct{}

// Patiently returns a context for commits that must complete: the wait ends when the commit is written or failed, or
// when this process loses the right to write, but not by a timeout or the end of ctx. An interrupted wait can't tell
// whether the commit will still be written.
func Patiently(ctx context.Context) context.Context {
	return context.WithValue(context.WithoutCancel(ctx), patientKey{}, true)
}

// outage is a time in which the database can't be reached. Until it begins, done is open and err isn't set.
type outage struct {
	done chan struct{}
	err  error
}

// FailWaiting fails repeatable waiting commits, and refuses more of them until the database is back. Runs continue
// waiting.
func (w *Writer) FailWaiting(err error) {
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
func (w *Writer) comeBack() {
	if w.outage.err != nil {
		w.outage = &outage{done: make(chan struct{})}
	}
}

// slowness records since when the writer waits for a commit, the number of slow commits, and the watchers.
type slowness struct {
	since  atomic.Int64 // nanoseconds since origin, 0 without a commit in progress
	times  atomic.Uint64
	spare  atomic.Bool // the current write is housekeeping, which counts as slow once another write waits for it
	busy   func() bool // reports whether anything waits; constant, like origin
	origin time.Time   // monotonic reference time

	mu       sync.Mutex // guards the fields below
	timer    *time.Timer
	slow     bool // watchers must be notified
	watchers map[*watcher]bool
}

// watcher is notified when commits stall, one call after the other.
type watcher struct {
	tell  func(waiting bool)
	calls sync.WaitGroup

	mu   sync.Mutex // held while calling tell
	said bool
}

// begin records the start of a write; spare means that no caller waits for it.
func (s *slowness) begin(spare bool) (end func()) {
	s.spare.Store(spare)
	s.since.Store(int64(time.Since(s.origin)) + 1)
	s.mu.Lock()
	if s.timer == nil {
		s.timer = time.AfterFunc(slowAfter, s.notifyAll)
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

// now returns how long a commit has been awaited, 0 while that is usual. ahead is the time until the next check.
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

// notifyAll notifies watchers when a stall has lasted long enough.
func (s *slowness) notifyAll() {
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
		w.calls.Go(func() { s.notify(w) })
	}
}

// notify calls a watcher if its last notification is outdated.
func (s *slowness) notify(w *watcher) {
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

// OnWait calls tell with true when a commit has taken two seconds, at once if that is so already, and with false when
// commits are fast again. Calls are sequential and from a separate goroutine, so they may block. stop ends the calls
// after a current one.
func (w *Writer) OnWait(tell func(waiting bool)) (stop func()) {
	s, on := &w.slow, &watcher{tell: tell}
	s.mu.Lock()
	if s.watchers == nil {
		s.watchers = map[*watcher]bool{}
	}
	s.watchers[on] = true
	if s.slow {
		on.calls.Go(func() { s.notify(on) })
	}
	s.mu.Unlock()
	return func() {
		s.mu.Lock()
		delete(s.watchers, on)
		s.mu.Unlock()
		on.calls.Wait()
	}
}

// Stalled returns how long the current commit has been awaited, 0 below two seconds, and the number of commits that ever
// took longer.
func (w *Writer) Stalled() (now time.Duration, times uint64) {
	times = w.slow.times.Load()
	if now, _ = w.slow.now(); now > 0 {
		times++
	}
	return now, times
}
