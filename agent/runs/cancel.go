package runs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"fawn/agent/runs/recorder"
	"fawn/store"
)

// Cancel ends a run, keeping what it has shown, also if the server dies first; with wait it
// returns once the run has ended. Cancelling an interrupted run again is fine; other ended runs give
// ErrNotCancelable, unknown ones ErrNotFound.
func (m *Manager) Cancel(ctx context.Context, thread, run string, wait bool) error {
	e, drop := m.endLive(thread, run, false)
	if e == nil && m.cancelChild(thread, run) {
		return nil
	}
	if e == nil {
		return m.cancelEnded(ctx, thread, run)
	}
	return m.await(ctx, e, drop, wait, store.WishInterrupt)
}

// wish stores what is to become of runs of a thread, which this server does by itself unless it
// dies first.
func (m *Manager) wish(thread string, wishes ...store.Wish) {
	ctx, cancel := m.db.UnlessStuck(context.Background(), recorder.Patience)
	defer cancel()
	if err := m.db.Commit(ctx, store.Batch{Wishes: wishes}); err != nil {
		m.logger.Error("wishes about runs could not be stored", "thread", thread, "err", err)
	}
}

// endLive makes a live run end. It is nil when there is none of that name, or when it is too
// late to take it back.
func (m *Manager) endLive(thread, run string, undo bool) (e *entry, drop bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e = m.runs[run]
	if e == nil || thread != "" && e.run.ThreadID != thread || undo && e.stage == stageSettled {
		return nil, false
	}
	return e, m.end(e, undo)
}

// await stores the end of a run that never started, or the wish about one that was told to end,
// and waits for it.
func (m *Manager) await(ctx context.Context, e *entry, drop, wait bool, wish string) error {
	if drop {
		return m.drop(ctx, e)
	}
	m.wish(e.run.ThreadID, store.Wish{Run: e.run.ID, Wish: wish})
	if !wait {
		return nil
	}
	select {
	case <-e.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (m *Manager) cancelEnded(ctx context.Context, thread, run string) error {
	r, err := m.db.Run(ctx, run)
	switch {
	case errors.Is(err, store.ErrNotFound) || err == nil && thread != "" && r.ThreadID != thread:
		return fmt.Errorf("run %s: %w", run, ErrNotFound)
	case err != nil:
		return err
	case r.Status == Interrupted:
		return nil
	}
	return fmt.Errorf("%w: run %s has status %s", ErrNotCancelable, run, r.Status)
}

// drop ends a run that was taken out of the queue before it started.
func (m *Manager) drop(ctx context.Context, e *entry) error {
	<-e.stored // the store answers in any case
	m.mu.Lock()
	taken := e.stage
	m.mu.Unlock()
	var err error
	ctx = context.WithoutCancel(ctx)
	switch taken {
	case stageErased:
		err = m.db.Commit(ctx, store.Batch{ThreadID: e.run.ThreadID, Delete: &store.Delete{Runs: []string{e.run.ID}}})
	case stageDropped:
		e.run.Status, e.run.UpdatedAt = Interrupted, time.Now()
		err = m.db.Commit(ctx, store.Batch{ThreadID: e.run.ThreadID, Run: &e.run, KV: webhooks(e.run)})
		defer m.hooked()
	}
	e.log.Abandon()
	rest, restErr := Resting(ctx, m.db, e.run.ThreadID)
	if l := m.forget(e, restErr == nil); l != nil {
		m.vacate(l, e.run.ThreadID, known(rest), func() { l.write = nil })
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrStorage, err)
	}
	return nil
}

// forget lets go of a run that was taken out of its line. It returns the line, held, when the
// thread's status, if known, is to be written now.
func (m *Manager) forget(e *entry, known bool) *lineup {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.over(e)
	l := m.line(e.run.ThreadID)
	l.dirty = true
	if known && l.active == nil && l.write == nil && !m.closed {
		l.write = &write{}
		return l
	}
	m.dispatch(e.run.ThreadID)
	return nil
}

// CancelAll ends every live run of a thread and waits for them.
func (m *Manager) CancelAll(ctx context.Context, thread string) error {
	m.mu.Lock()
	var ids []string
	for id, e := range m.runs {
		if e.stage.aside() && e.run.ThreadID == thread {
			ids = append(ids, id)
		}
	}
	if l := m.threads[thread]; l != nil {
		for _, e := range slices.Backward(l.queue) { // the queue first, so that nothing new starts
			ids = append(ids, e.run.ID)
		}
		if l.active != nil {
			ids = append(ids, l.active.run.ID)
		}
	}
	m.mu.Unlock()
	for _, id := range ids {
		if err := m.Cancel(ctx, thread, id, true); err != nil && !errors.Is(err, ErrNotCancelable) &&
			!errors.Is(err, ErrNotFound) {
			return err
		}
	}
	return nil
}

// Exclusive runs f while no run of the thread is active or can start; ErrBusy when one is.
func (m *Manager) Exclusive(ctx context.Context, thread string, f func(context.Context) error) error {
	l, err := m.hold(ctx, thread, nil)
	if err != nil {
		return err
	}
	defer m.release(ctx, l, thread)
	return f(ctx)
}

// release gives the line of a thread back.
func (m *Manager) release(ctx context.Context, l *lineup, thread string) {
	defer m.wg.Done()
	rest := func() (string, error) { return Resting(context.WithoutCancel(ctx), m.db, thread) }
	m.vacate(l, thread, rest, func() { l.write = nil })
}

// hold takes the line of a thread for an exclusive write. It waits for a run whose end is
// on show to be gone, and for writes that are brief. With a channel the write is brief
// itself; whoever holds the line closes it behind the release.
func (m *Manager) hold(ctx context.Context, thread string, brief chan struct{}) (*lineup, error) {
	for {
		m.mu.Lock()
		l := m.line(thread)
		var gone <-chan struct{}
		leaving := l.active
		if leaving != nil {
			gone = leaving.done
		}
		switch {
		case m.closed:
			m.mu.Unlock()
			return nil, ErrClosed
		case l.write != nil && l.write.over != nil:
			gone = l.write.over
		case l.write != nil || l.busy():
			m.mu.Unlock()
			return nil, fmt.Errorf("thread %s: %w", thread, ErrBusy)
		case leaving == nil:
			l.write = &write{over: brief}
			m.wg.Add(1)
			m.mu.Unlock()
			return l, nil
		}
		m.mu.Unlock()
		select {
		case <-gone:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// DeleteThread ends the thread's runs and removes its rows, then its files.
func (m *Manager) DeleteThread(ctx context.Context, thread string) error {
	if err := m.CancelAll(ctx, thread); err != nil {
		return err
	}
	return m.Exclusive(ctx, thread, func(ctx context.Context) error { return m.RemoveThread(ctx, thread) })
}
