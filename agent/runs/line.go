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

// lineup is what this server does on a thread. Who stands in line is in the rows of the runs, see
// [store.Line]; whoever changes them looks afterwards whether it is somebody's turn. It exists only
// while something is in it.
type lineup struct {
	active *entry
	write  *write     // the exclusive write that is under way
	owed   *store.Run // has ended here, and its row does not say so yet

	looking bool
	again   bool // something has changed since
}

// write is an exclusive write on a thread. Of a brief one over is closed at its end: others
// wait for it instead of giving up.
type write struct {
	over chan struct{}
	row  bool // the thread's row says so, too
}

// entry is a run whose readers are here: it is at work, or waits.
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
	family  childSet

	// guarded by Manager.mu
	stage stage
	rec   *recorder.Recorder // takes announcements; nil until the agent works
}

// line is what is done on a thread, perhaps nothing. mu is held.
func (m *Manager) line(thread string) *lineup {
	l := m.threads[thread]
	if l == nil {
		l = &lineup{}
		m.threads[thread] = l
	}
	return l
}

// tidy forgets a thread on which nothing is done. mu is held.
func (m *Manager) tidy(thread string) {
	if l := m.threads[thread]; l != nil && l.active == nil && l.write == nil && l.owed == nil && !l.looking {
		delete(m.threads, thread)
	}
}

// enroll lets readers come to a run that is about to be stored.
func (m *Manager) enroll(e *entry, to stage) error {
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

// leave lets go of a run whose row could not be stored.
func (m *Manager) leave(e *entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e.become(stageUnstored)
	close(e.stored)
	m.over(e)
}

// over forgets a run that has ended or will never start. mu is held.
func (m *Manager) over(e *entry) {
	if m.runs[e.run.ID] == e {
		delete(m.runs, e.run.ID)
		close(e.done)
	}
}

// overtake ends the runs in line with a wish, after one that has left it with them.
func (m *Manager) overtake(ctx context.Context, thread, strategy string) {
	if strategy != store.WishInterrupt && strategy != store.WishRollback {
		return
	}
	line, err := m.db.Line(ctx, thread)
	if err != nil {
		m.logger.Error("a line could not be read", "thread", thread, "err", err)
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
			m.logger.Error("an interrupted run could not be stored", "thread", thread, "run", p.Run, "err", err)
		}
	}
}

// look starts the next run of a thread if it can start.
func (m *Manager) look(thread string) { m.lookAt(thread, nil) }

// lookAt is look for a caller who may know which run is at the front.
func (m *Manager) lookAt(thread string, e *entry) {
	if !m.beginLook(thread) {
		return
	}
	if e != nil && m.endLook(thread, e) {
		return
	}
	for {
		e, err := m.next(thread)
		if err != nil && !m.leaving() {
			m.logger.Error("the next run of a thread could not be found", "thread", thread, "err", err)
			m.lookLater(thread)
		}
		if m.endLook(thread, e) {
			return
		}
	}
}

func (m *Manager) leaving() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.closed
}

// beginLook says that nothing holds the thread, and that nobody else looks.
func (m *Manager) beginLook(thread string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.line(thread)
	if m.closed || l.active != nil || l.write != nil || l.looking {
		l.again = true
		m.tidy(thread)
		return false
	}
	l.looking, l.again = true, false
	return true
}

// endLook starts e, unless that is nil or a write has come in between. It is false when there is to
// be looked again.
func (m *Manager) endLook(thread string, e *entry) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.line(thread)
	free := l.write == nil && !m.closed
	if e != nil && e.stage == stageLetGo {
		l.again = true
	}
	if free && e != nil && (e.stage == stageQueued || e.become(stageQueued)) {
		l.looking = false
		m.begin(l, e)
		return true
	}
	if l.again && free {
		l.again = false
		return false
	}
	l.looking = false
	m.tidy(thread)
	return true
}

// lookLater looks again after a moment, when the store may answer.
func (m *Manager) lookLater(thread string) {
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
			m.look(thread)
		case <-m.ctx.Done():
		}
	})
}

// next is the run at the front of a thread's line, nil when it is none that can start. Those that
// are to end instead end.
func (m *Manager) next(thread string) (*entry, error) {
	ctx := context.Background()
	if err := m.settleOwed(ctx, thread); err != nil {
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
	return e, m.enroll(e, stageQueued)
}

// has says that a run is at work or waits here.
func (m *Manager) has(run string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.runs[run] != nil
}

// owes says that the end of a run of the thread is not stored.
func (m *Manager) owes(thread string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.threads[thread]
	return l != nil && l.owed != nil
}

// settleOwed stores the end of a run that could not be stored when it ended.
func (m *Manager) settleOwed(ctx context.Context, thread string) error {
	m.mu.Lock()
	run := m.line(thread).owed
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
	m.line(thread).owed = nil
	return nil
}

// begin lets a run work. mu is held.
func (m *Manager) begin(l *lineup, e *entry) {
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
		m.hooked()
		m.vacate(l, e, stored)
		m.look(thread) // before anybody is told, who may want to see the next one at work
		m.mu.Lock()
		defer m.mu.Unlock()
		m.over(e)
	})
}

// vacate gives the thread of a run free.
func (m *Manager) vacate(l *lineup, e *entry, stored bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l.active = nil
	m.cluster.occupy(m.db, -1)
	if !stored {
		l.owed = &e.run
		m.over(e)
	}
}
