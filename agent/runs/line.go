package runs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"fawn/store"
)

// lineup is a thread's turn-taking. It exists only while something is in it.
type lineup struct {
	active *entry
	held   bool          // an exclusive write is under way
	brief  chan struct{} // closed at the end of that write, when others wait for it instead of giving up
	dirty  bool          // the thread's row may say busy because of a run that is not here any more
	queue  []*entry
}

// entry is a live run.
type entry struct {
	run    store.Run
	req    Request
	in     input
	cmd    command
	log    *Log
	cancel context.CancelCauseFunc // set while running
	stored chan struct{}           // closed once its row is stored, or never will be
	done   chan struct{}           // closed when it has ended
	goOn   *resumption             // not nil for a run that a crash cut off

	remarks remarks // made while it runs

	// guarded by Manager.mu
	ready   bool // its row is stored
	dropped bool // taken out of the queue
	aside   bool // waits for its time, in no line
	waits   bool // aside until the run before it has ended well, or it is released
	clock   *time.Timer
	rec     *recorder // takes announcements; nil until the agent works
	undo    bool      // it is to be rolled back
	settled bool      // how it ends is decided
}

// busy says whether a run is at work or waits. One whose end is already on show counts as
// gone, though its last words to the manager are still under way: who saw a run end may
// start the next one at once. mu of the manager is held.
func (l *lineup) busy() bool {
	return len(l.queue) > 0 || l.active != nil && !l.active.log.over()
}

// join puts e into its thread's line by its strategy. It returns the queued runs which e
// interrupts; the caller drops them.
func (m *Manager) join(e *entry) (interrupted []*entry, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, ErrClosed
	}
	l := m.threads[e.run.ThreadID]
	if l == nil {
		l = &lineup{}
		m.threads[e.run.ThreadID] = l
	}
	if l.busy() && e.run.Multitask == "reject" {
		return nil, fmt.Errorf("thread %s: %w", e.run.ThreadID, ErrBusy)
	}
	m.runs[e.run.ID] = e
	return l.enter(e, e.run.Multitask), nil
}

// enter puts e behind the others, or in their place. mu of the manager is held.
func (l *lineup) enter(e *entry, strategy string) (interrupted []*entry) {
	if undo := strategy == "rollback"; l.busy() && (undo || strategy == "interrupt") {
		if l.active != nil && !l.active.settled {
			l.active.undo = l.active.undo || undo
			l.active.cancel(ErrInterrupted)
		}
		interrupted, l.queue = l.queue, nil
		for _, q := range interrupted {
			q.dropped, q.undo = true, undo
		}
	}
	l.queue = append(l.queue, e)
	l.dirty = true
	return interrupted
}

// leave takes an entry out of the line whose row could not be stored.
func (m *Manager) leave(e *entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	close(e.stored)
	e.takeBack()
	if l := m.threads[e.run.ThreadID]; l != nil {
		l.queue = slices.DeleteFunc(l.queue, func(q *entry) bool { return q == e })
	}
	m.over(e)
	m.dispatch(e.run.ThreadID)
}

// over forgets a run that has ended or will never start. mu is held.
func (m *Manager) over(e *entry) {
	if m.runs[e.run.ID] == e {
		delete(m.runs, e.run.ID)
		close(e.done)
	}
}

// dispatch starts the next run of a thread when nothing holds it. mu is held.
func (m *Manager) dispatch(thread string) {
	l := m.threads[thread]
	if l == nil || l.active != nil || l.held {
		return
	}
	if len(l.queue) == 0 {
		delete(m.threads, thread)
		return
	}
	e := l.queue[0]
	if !e.ready || m.closed {
		return
	}
	l.active, l.queue = e, l.queue[1:]
	m.announce(thread)
	ctx, cancel := context.WithCancelCause(m.ctx)
	e.cancel = cancel
	m.wg.Go(func() {
		defer cancel(nil)
		rest := m.execute(ctx, e)
		m.hooked()
		m.mu.Lock()
		defer m.mu.Unlock()
		m.promote(l, e, rest)
		m.writeStatus(l, thread, rest)
		l.active = nil
		m.over(e)
		m.dispatch(thread)
	})
}

// writeStatus writes the status of a thread on which nothing is left to run, unless the run
// that ended has written it already. The line is held or active meanwhile, so that no run
// can start; those that join write busy again when they begin. mu is held, but not during
// the write.
func (m *Manager) writeStatus(l *lineup, thread, status string) {
	for l.dirty && len(l.queue) == 0 {
		l.dirty = false
		m.mu.Unlock()
		ctx, cancel := m.db.UnlessStuck(context.Background(), patience)
		err := m.db.Commit(ctx, store.Batch{ThreadID: thread, Patch: &store.ThreadPatch{Status: &status}})
		cancel()
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			m.logger.Error("a thread's status could not be stored", "thread", thread, "err", err)
		}
		m.mu.Lock()
	}
}

// statusAfter is what an ending run writes as its thread's status: rest, unless more runs
// are queued.
func (m *Manager) statusAfter(thread, rest string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.threads[thread]
	if l == nil {
		return rest
	}
	if l.dirty = len(l.queue) > 0; l.dirty {
		return Busy
	}
	return rest
}
