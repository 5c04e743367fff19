package runs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"fawn/store"
)

// Cancel ends a run, keeping what it has shown; with wait it returns once the run has
// ended. Cancelling an interrupted run again is fine; other ended runs give
// ErrNotCancelable, unknown ones ErrNotFound.
func (m *Manager) Cancel(ctx context.Context, thread, run string, wait bool) error {
	m.mu.Lock()
	e := m.runs[run]
	if e == nil || thread != "" && e.run.ThreadID != thread {
		m.mu.Unlock()
		return m.cancelEnded(ctx, thread, run)
	}
	l := m.threads[e.run.ThreadID]
	drop := false
	switch {
	case l != nil && l.active == e:
		e.cancel(ErrInterrupted)
	case !e.dropped:
		e.dropped, drop = true, true
		e.takeBack()
		if l != nil {
			l.queue = slices.DeleteFunc(l.queue, func(q *entry) bool { return q == e })
		}
	}
	m.mu.Unlock()
	if drop {
		return m.drop(ctx, e)
	}
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
	ready, undo := e.ready, e.undo
	m.mu.Unlock()
	var err error
	ctx = context.WithoutCancel(ctx)
	switch {
	case ready && undo:
		err = m.db.Commit(ctx, store.Batch{ThreadID: e.run.ThreadID, Delete: &store.Delete{Runs: []string{e.run.ID}}})
	case ready:
		e.run.Status, e.run.UpdatedAt = Interrupted, time.Now()
		err = m.db.Commit(ctx, store.Batch{ThreadID: e.run.ThreadID, Run: &e.run, KV: webhooks(e.run)})
		defer m.hooked()
	}
	e.log.abandon()
	rest, restErr := m.resting(ctx, e.run.ThreadID)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.over(e)
	l := m.threads[e.run.ThreadID]
	if l == nil {
		l = &lineup{}
		m.threads[e.run.ThreadID] = l
	}
	l.dirty = true
	if restErr == nil && l.active == nil && !l.held && !m.closed {
		l.held = true
		m.writeStatus(l, e.run.ThreadID, rest)
		l.held = false
	}
	m.dispatch(e.run.ThreadID)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrStorage, err)
	}
	return nil
}

// CancelAll ends every live run of a thread and waits for them.
func (m *Manager) CancelAll(ctx context.Context, thread string) error {
	m.mu.Lock()
	var ids []string
	for id, e := range m.runs {
		if e.aside && e.run.ThreadID == thread {
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
		if err := m.Cancel(ctx, thread, id, true); err != nil && !errors.Is(err, ErrNotCancelable) && !errors.Is(err, ErrNotFound) {
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
	m.mu.Lock()
	if l.dirty && len(l.queue) == 0 { // a run joined and left again
		m.mu.Unlock()
		rest, err := m.resting(context.WithoutCancel(ctx), thread)
		m.mu.Lock()
		if err == nil {
			m.writeStatus(l, thread, rest)
		}
	}
	l.held, l.brief = false, nil
	m.dispatch(thread)
	m.mu.Unlock()
	m.wg.Done()
}

// hold takes the line of a thread for an exclusive write. It waits for a run whose end is
// on show to be gone, and for writes that are brief. With a channel the write is brief
// itself; whoever holds the line closes it behind the release.
func (m *Manager) hold(ctx context.Context, thread string, brief chan struct{}) (*lineup, error) {
	for {
		m.mu.Lock()
		l := m.threads[thread]
		if l == nil {
			l = &lineup{}
			m.threads[thread] = l
		}
		var gone <-chan struct{}
		leaving := l.active
		if leaving != nil {
			gone = leaving.done
		}
		switch {
		case m.closed:
			m.mu.Unlock()
			return nil, ErrClosed
		case l.held && l.brief != nil:
			gone = l.brief
		case l.held || l.busy():
			m.mu.Unlock()
			return nil, fmt.Errorf("thread %s: %w", thread, ErrBusy)
		case leaving == nil:
			l.held, l.brief = true, brief
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
	return m.Exclusive(ctx, thread, func(ctx context.Context) error { return m.removeThread(ctx, thread) })
}
