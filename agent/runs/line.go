package runs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fawn/agent/runs/eventlog"
	"fawn/agent/runs/recorder"
	"fawn/agent/runs/request"
	"fawn/store"
)

// lookAgain is how long a line waits that could not be read or moved on.
const lookAgain = time.Second

// threadWork is this server's work on one thread. Who stands in line is in the rows of the runs, see [store.Line]; whoever
// changes them looks afterwards whether it is somebody's turn. It exists only while something is in it.
type threadWork struct {
	active   *entry
	write    *write     // the exclusive write that is under way
	unstored *store.Run // has ended here, and its row does not say so yet

	starting bool // somebody looks for the next run
	changed  bool // since the search began
}

// write is an exclusive write on a thread. Of a brief one over is closed at its end: others
// wait for it instead of giving up.
type write struct {
	over chan struct{}
	row  bool // the thread's row says so, too
}

// entry is a run with readers on this server: running or waiting.
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

	remarks recorder.Remarks // made while it runs
	handed  bool             // to another server; belongs to who carries it out
	fresh   bool             // it began as soon as it was asked for
	alone   bool             // its end says that nothing waits behind it
	family  childSet

	// guarded by Manager.mu
	stage stage
	rec   *recorder.Recorder // takes announcements; nil until the agent works
}

// line returns this server's work on a thread, creating an empty one. mu is held.
func (m *Manager) line(thread string) *threadWork {
	l := m.threads[thread]
	if l == nil {
		l = &threadWork{}
		m.threads[thread] = l
	}
	return l
}

// tidy forgets a thread on which nothing is done. mu is held.
func (m *Manager) tidy(thread string) {
	if l := m.threads[thread]; l != nil && l.active == nil && l.write == nil && l.unstored == nil && !l.starting {
		delete(m.threads, thread)
	}
}

// register lets readers come to a run that is about to be stored.
func (m *Manager) register(e *entry, to stage) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	if m.runs[e.run.ID] != nil {
		return fmt.Errorf("run %s: %w", e.run.ID, ErrExists)
	}
	e.become(to)
	m.runs[e.run.ID] = e
	return nil
}

// discard drops an entry whose row could not be stored.
func (m *Manager) discard(e *entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e.become(stageUnstored)
	close(e.stored)
	m.forget(e)
}

// forget drops a run that has ended or will never start. mu is held.
func (m *Manager) forget(e *entry) {
	if m.runs[e.run.ID] == e {
		delete(m.runs, e.run.ID)
		close(e.done)
	}
}

// cancelQueued stores requests to end the runs queued before a new one.
func (m *Manager) cancelQueued(ctx context.Context, thread, strategy string) {
	if strategy != store.WishInterrupt && strategy != store.WishRollback {
		return
	}
	line, err := m.db.Line(ctx, thread)
	if err != nil {
		m.logger.Error("couldn't read a thread's queue", "thread", thread, "err", err)
		return
	}
	for _, p := range line {
		if p.Wish == "" {
			continue
		}
		e, drop := m.endLive(thread, p.Run, p.Wish == store.WishRollback)
		switch {
		case drop:
			err = m.drop(ctx, e)
		case e == nil && m.cluster != nil:
			m.db.Say(store.WakeWish, 0, p.Run)
			err = m.dropWaiting(ctx, p.Run, p.Wish == store.WishRollback)
		}
		if err != nil {
			m.logger.Error("couldn't store an interrupted run", "thread", thread, "run", p.Run, "err", err)
		}
	}
}

// startNext starts the next run of a thread if it can start.
func (m *Manager) startNext(thread string) { m.startFront(thread, nil, false) }

// startFront is startNext with a hint: the run that may be at the front. fresh says that it was asked for just now.
func (m *Manager) startFront(thread string, e *entry, fresh bool) {
	if !m.beginStart(thread) {
		return
	}
	if e != nil && m.endStart(thread, e, fresh) {
		return
	}
	for {
		e, err := m.next(thread)
		if err != nil && !m.closing() {
			m.logger.Error("couldn't find a thread's next run", "thread", thread, "err", err)
			m.retryStart(thread)
		}
		if m.endStart(thread, e, false) {
			return
		}
	}
}

func (m *Manager) closing() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.closed
}

// beginStart begins the search for the next run, unless the thread is in use or somebody searches already.
func (m *Manager) beginStart(thread string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.line(thread)
	if m.closed || l.active != nil || l.write != nil || l.starting {
		l.changed = true
		m.tidy(thread)
		return false
	}
	l.starting, l.changed = true, false
	return true
}

// endStart starts e, unless that is nil or a write has come in between. It is false when there is to
// be looked again.
func (m *Manager) endStart(thread string, e *entry, fresh bool) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.line(thread)
	free := l.write == nil && !m.closed
	if e != nil && e.stage == stageReleased {
		l.changed = true
	}
	if free && e != nil && (e.stage == stageQueued || e.become(stageQueued)) {
		l.starting = false
		e.fresh = fresh
		m.begin(l, e)
		return true
	}
	if !free {
		l.changed = true // for the one who has the thread
	}
	if l.changed && free {
		l.changed = false
		return false
	}
	l.starting = false
	m.tidy(thread)
	return true
}

// retryStart calls startNext after a moment, when the store may answer.
func (m *Manager) retryStart(thread string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return
	}
	m.wg.Go(func() {
		timer := time.NewTimer(lookAgain)
		defer timer.Stop()
		select {
		case <-timer.C:
			m.startNext(thread)
		case <-m.ctx.Done():
		}
	})
}

// next is the run at the front of a thread's line, nil when it is none that can start. Those that
// are to end instead end.
func (m *Manager) next(thread string) (*entry, error) {
	ctx := context.Background()
	if err := m.storeLateEnd(ctx, thread); err != nil {
		return nil, err
	}
	for {
		front, err := m.db.Front(ctx, thread)
		if errors.Is(err, store.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if front.Node != m.node {
			if front.Node == 0 { // for whoever has room
				m.db.Say(store.WakeClaim, 0)
			}
			return nil, nil
		}
		if front.Held && front.Wish == "" || m.cluster != nil && front.Status == Running && !m.has(front.Run) {
			return nil, nil // an exclusive write goes on, or the run is being taken over: both look when it is time
		}
		e, err := m.entryOf(ctx, front)
		if err != nil {
			return nil, err
		}
		if e == nil {
			continue
		}
		if front.Wish == "" || front.Status != Pending {
			return e, nil
		}
		if e, drop := m.endLive(thread, front.Run, front.Wish == store.WishRollback); drop {
			err = m.drop(ctx, e)
		} else { // whoever ends it looks again
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

var errNobody = errors.New("nobody works on the run")

// entryOf is the entry of a run that is stored; nil when it is not at the front any more.
func (m *Manager) entryOf(ctx context.Context, at store.Place) (*entry, error) {
	m.mu.Lock()
	e := m.runs[at.Run]
	m.mu.Unlock()
	if e != nil {
		return e, nil
	}
	run, err := m.db.Run(ctx, at.Run)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	case run.Status == Pending:
		e, err = storedEntry(run)
	default:
		err = errNobody
	}
	if err != nil {
		return nil, m.fail(ctx, run, err)
	}
	return e, m.register(e, stageQueued)
}

// has says that a run is at work or waits here.
func (m *Manager) has(run string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.runs[run] != nil
}

// endUnstored says that the end of a run of the thread is not stored.
func (m *Manager) endUnstored(thread string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.threads[thread]
	return l != nil && l.unstored != nil
}

// storeLateEnd stores the end of a run that could not be stored when it ended.
func (m *Manager) storeLateEnd(ctx context.Context, thread string) error {
	m.mu.Lock()
	run := m.line(thread).unstored
	m.mu.Unlock()
	if run == nil {
		return nil
	}
	rest := Idle
	if run.Status == Failed {
		rest = ThreadError
	} else if at, err := Resting(ctx, m.db, thread); err == nil {
		rest = at
	}
	err := m.storeEnd(ctx, *run, rest)
	if err != nil && !errors.Is(err, store.ErrNotFound) { // deleted meanwhile
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.line(thread).unstored = nil
	return nil
}

// begin lets a run work. mu is held.
func (m *Manager) begin(l *threadWork, e *entry) {
	thread := e.run.ThreadID
	e.become(stageWorking)
	l.active = e
	m.cluster.occupy(m.db, 1)
	m.announce(thread)
	ctx, cancel := context.WithCancelCause(m.ctx)
	e.cancel = cancel
	m.wg.Go(func() {
		defer cancel(nil)
		stored := m.execute(ctx, e)
		if len(webhooks(e.run)) > 0 {
			m.wakeWebhooks()
		}
		if m.endActive(l, e, stored) {
			m.startNext(thread) // before anybody is told, who may want to see the next one at work
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		m.forget(e)
	})
}

// endActive ends the work of a run on its thread. It tells whether another one may be next.
func (m *Manager) endActive(l *threadWork, e *entry, stored bool) (more bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l.active = nil
	m.cluster.occupy(m.db, -1)
	if !stored {
		l.unstored = &e.run
		m.forget(e)
	}
	more = !stored || !e.alone || l.changed || m.cluster != nil
	if !more {
		m.tidy(e.run.ThreadID)
	}
	return more
}
