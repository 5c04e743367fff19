package runs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"fawn/agent/runs/eventlog"
	"fawn/agent/runs/recorder"
	"fawn/agent/runs/request"
	"fawn/store"
)

// lineup is a thread's turn-taking. It exists only while something is in it.
type lineup struct {
	active *entry
	write  *write // the exclusive write that is under way
	dirty  bool   // the thread's row may say busy because of a run that is not here any more
	queue  []*entry
}

// write is an exclusive write on a thread. Of a brief one over is closed at its end: others
// wait for it instead of giving up.
type write struct{ over chan struct{} }

// entry is a live run.
type entry struct {
	run    store.Run
	req    Request
	in     request.Input
	cmd    request.Command
	log    *eventlog.Log
	cancel context.CancelCauseFunc // set while running
	stored chan struct{}           // closed once its row is stored, or never will be
	done   chan struct{}           // closed when it has ended
	goOn   *resumption             // not nil for a run that a crash cut off

	remarks remarks // made while it runs
	family  family

	// guarded by Manager.mu
	stage stage
	clock *time.Timer        // of a run that waits for its time
	rec   *recorder.Recorder // takes announcements; nil until the agent works
}

// line is the line of a thread, which need not have one yet. mu is held.
func (m *Manager) line(thread string) *lineup {
	l := m.threads[thread]
	if l == nil {
		l = &lineup{}
		m.threads[thread] = l
	}
	return l
}

// busy says whether a run is at work or waits. One whose end is already on show counts as
// gone, though its last words to the manager are still under way: who saw a run end may
// start the next one at once. mu of the manager is held.
func (l *lineup) busy() bool {
	return len(l.queue) > 0 || l.active != nil && !l.active.log.Over()
}

// join puts e into its thread's line by a strategy. The caller stores the wishes about the runs
// it returns, and drops those that were queued.
func (m *Manager) join(e *entry, strategy string) (out overtaken, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return out, ErrClosed
	}
	l := m.line(e.run.ThreadID)
	if l.busy() && strategy == "reject" {
		return out, fmt.Errorf("thread %s: %w", e.run.ThreadID, ErrBusy)
	}
	m.runs[e.run.ID] = e
	return m.enter(l, e, strategy), nil
}

// overtaken are the runs that another one ends by its strategy.
type overtaken struct {
	active string   // id of the one at work, or ""
	queued []*entry // taken out of the line
	wish   string
}

// wishes are what is to be stored about them, once the rows of those in line are.
func (o overtaken) wishes() (list []store.Wish) {
	if o.active != "" {
		list = append(list, store.Wish{Run: o.active, Wish: o.wish})
	}
	for _, q := range o.queued {
		<-q.stored // the store answers in any case
		list = append(list, store.Wish{Run: q.run.ID, Wish: o.wish})
	}
	return list
}

// enter puts e behind the others, or in their place. mu is held.
func (m *Manager) enter(l *lineup, e *entry, strategy string) (out overtaken) {
	if undo := strategy == store.WishRollback; l.busy() && (undo || strategy == store.WishInterrupt) {
		out.wish = strategy
		if l.active != nil && l.active.stage != stageSettled {
			m.end(l.active, undo)
			out.active = l.active.run.ID
		}
		out.queued, l.queue = l.queue, nil
		for _, q := range out.queued {
			q.takeOut(undo)
		}
	}
	l.admit(e)
	return out
}

// admit puts a run into line, behind the others. mu of the manager is held.
func (l *lineup) admit(e *entry) {
	if e.become(stageQueued) {
		e.run.Held = false
		l.queue, l.dirty = append(l.queue, e), true
	}
}

// remove takes a run out of the line. mu of the manager is held.
func (l *lineup) remove(e *entry) {
	l.queue = slices.DeleteFunc(l.queue, func(q *entry) bool { return q == e })
}

// isStored says whether the row of a run in line is stored.
func (e *entry) isStored() bool {
	select {
	case <-e.stored:
		return true
	default:
		return false
	}
}

// leave takes an entry out of the line whose row could not be stored.
func (m *Manager) leave(e *entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e.become(stageUnstored)
	close(e.stored)
	e.stopClock()
	if l := m.threads[e.run.ThreadID]; l != nil {
		l.remove(e)
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
	if l == nil || l.active != nil || l.write != nil {
		return
	}
	if len(l.queue) == 0 {
		delete(m.threads, thread)
		return
	}
	e := l.queue[0]
	if !e.isStored() || m.closed || !e.become(stageWorking) {
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
		m.promote(l, e, rest)
		m.vacate(l, thread, known(rest), func() {
			l.active = nil
			m.over(e)
		})
	})
}

// vacate gives a line free that was held or active until now, and starts the next run. Before
// it, the status of a thread on which nothing is left to run is written, unless the run that
// ended has written it already. No run can start meanwhile; those that join write busy again
// when they begin. rest finds that status; free is called with mu held.
func (m *Manager) vacate(l *lineup, thread string, rest func() (string, error), free func()) {
	for !m.vacated(l, thread, free) {
		if err := m.writeStatus(thread, rest); err != nil && !errors.Is(err, store.ErrNotFound) {
			m.logger.Error("a thread's status could not be stored", "thread", thread, "err", err)
		}
	}
}

func (m *Manager) writeStatus(thread string, rest func() (string, error)) error {
	status, err := rest()
	if err != nil {
		return err
	}
	ctx, cancel := m.db.UnlessStuck(context.Background(), recorder.Patience)
	defer cancel()
	return m.db.Commit(ctx, store.Batch{ThreadID: thread, Patch: &store.ThreadPatch{Status: &status}})
}

// known is a status that need not be looked for.
func known(status string) func() (string, error) {
	return func() (string, error) { return status, nil }
}

// vacated frees the line, unless the thread's status is to be written first.
func (m *Manager) vacated(l *lineup, thread string, free func()) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l.dirty && len(l.queue) == 0 {
		l.dirty = false
		return false
	}
	free()
	m.dispatch(thread)
	return true
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
