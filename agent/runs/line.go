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

// lookAgain is the retry interval for a line that couldn't be read or advanced.
const lookAgain = time.Second

// threadWork is this server's work on one thread. The line itself is in the rows of the runs, see [store.Line]; a change
// to it is followed by a check for the next run. It exists only while it isn't empty.
type threadWork struct {
	active   *entry
	write    *write     // the exclusive write that is under way
	unstored *store.Run // has ended here, and its row does not say so yet

	starting bool // a search for the next run is under way
	changed  bool // since the search began
}

// write is an exclusive write on a thread. over is closed at the end of a brief one: other callers
// wait for it instead of giving up.
type write struct {
	over chan struct{}
	row  bool // the thread's row has the status, too
}

// entry is a run with readers on this server: running or waiting.
type entry struct {
	run    store.Run
	req    Request
	in     request.Input
	cmd    request.Command
	log    *eventlog.Log
	cancel context.CancelCauseFunc // set while running
	begun  *drive                  // set for a run that was stored with its input
	stored chan struct{}           // closed once its row is stored, or never will be
	done   chan struct{}           // closed when it has ended
	goOn   *resumption             // set for a run that a crash interrupted

	remarks recorder.Remarks // remarks made while it runs
	handed  bool             // handed to another server; only used by the goroutine that does so
	fresh   bool             // it began immediately
	alone   bool             // its end reports that nothing waits behind it
	family  childSet

	// guarded by Manager.mu
	stage stage
	rec   *recorder.Recorder // takes announcements; nil until the agent works
	leave func()             // gives back the place of its start; nil if it has none
	built bool               // its agent was built, or never will be
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

// tidy removes an idle thread's entry. mu is held.
func (m *Manager) tidy(thread string) {
	if l := m.threads[thread]; l != nil && l.active == nil && l.write == nil && l.unstored == nil && !l.starting {
		delete(m.threads, thread)
	}
}

// register makes a run available to readers before it is stored.
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

// startFront is startNext with a hint: the run that may be at the front. fresh means that it was just created.
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

// beginStart begins the search for the next run, unless the thread is in use or a search is under way.
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

// endStart starts e, unless it is nil or a write came in between. It returns false if the search must
// be repeated.
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
		l.changed = true // for the thread's holder
	}
	if l.changed && free {
		l.changed = false
		return false
	}
	l.starting = false
	m.tidy(thread)
	return true
}

// retryStart calls startNext after a moment, when the store may be available.
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

// next returns the run at the front of a thread's line, nil if none can start. It ends runs that were
// requested to end.
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
			if front.Node == 0 { // for any server with a free slot
				m.db.Say(store.WakeClaim, 0)
			}
			return nil, nil
		}
		if front.Held && front.Wish == "" || m.cluster != nil && front.Status == Running && !m.has(front.Run) {
			return nil, nil // an exclusive write or a takeover is under way; both look for the next run when they end
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
		} else { // the holder looks again when it ends
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

var errNobody = errors.New("nobody works on the run")

// entryOf returns the entry of a stored run; nil if it is no longer at the front.
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

// has reports whether a run is active or waiting here.
func (m *Manager) has(run string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.runs[run] != nil
}

// endUnstored reports whether a run of the thread has an unstored end.
func (m *Manager) endUnstored(thread string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.threads[thread]
	return l != nil && l.unstored != nil
}

// storeLateEnd stores the end of a run that couldn't be stored at the time.
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

// begin starts a run. mu is held.
func (m *Manager) begin(l *threadWork, e *entry) {
	e.become(stageWorking)
	l.active = e
	m.rested.take(e.run.ThreadID)
	m.cluster.occupy(m.db, 1)
	m.announce(e.run.ThreadID)
	ctx, cancel := context.WithCancelCause(m.ctx)
	e.cancel = cancel
	m.wg.Go(func() { m.work(ctx, l, e) })
}

// work executes the active run of a thread, and starts the next one.
func (m *Manager) work(ctx context.Context, l *threadWork, e *entry) {
	defer e.cancel(nil)
	stored := m.execute(ctx, e)
	m.giveWay(e)
	if len(webhooks(e.run)) > 0 {
		m.wakeWebhooks()
	}
	if m.endActive(l, e, stored) {
		m.startNext(e.run.ThreadID) // before readers are notified: they expect the next run to be active
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forget(e)
}

// endActive ends the work of a run on its thread. It reports whether another run may be next.
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
