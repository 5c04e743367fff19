package runs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"fawn/store"
)

// Cancel ends a run and keeps its output, even if the server dies first; with wait it returns once the run has ended.
// Cancelling an interrupted run again is fine; other ended runs give ErrNotCancelable, unknown ones ErrNotFound.
func (m *Manager) Cancel(ctx context.Context, thread, run string, wait bool) error {
	e, drop := m.endLive(thread, run, false)
	if e == nil && m.cancelChild(thread, run) {
		return nil
	}
	if e == nil {
		return m.cancelOther(ctx, thread, run, wait)
	}
	return m.await(ctx, e, drop, wait, store.WishInterrupt)
}

// wish stores requests to end runs of a thread. This server carries them out itself; another one does if it dies first.
func (m *Manager) wish(thread string, wishes ...store.Wish) {
	if err := m.db.Commit(store.Patiently(context.Background()), store.Batch{Wishes: wishes}); err != nil {
		m.logger.Error("couldn't store cancel requests", "thread", thread, "err", err)
	}
}

// endLive makes a live run end. e is nil if there is no such run, or if it is too late to revert it.
func (m *Manager) endLive(thread, run string, undo bool) (e *entry, drop bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e = m.runs[run]
	if e == nil || thread != "" && e.run.ThreadID != thread || undo && e.stage == stageSettled {
		return nil, false
	}
	return e, m.end(e, undo)
}

// await waits for the end of a cancelled run, or stores the end of one that never started.
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

// cancelOther cancels a run that isn't active here: it has ended, or another server has it.
func (m *Manager) cancelOther(ctx context.Context, thread, run string, wait bool) error {
	r, err := m.db.Run(ctx, run)
	switch {
	case errors.Is(err, store.ErrNotFound) || err == nil && thread != "" && r.ThreadID != thread:
		return fmt.Errorf("run %s: %w", run, ErrNotFound)
	case err != nil:
		return err
	case r.Status == Interrupted:
		return nil
	case !Done(r.Status) && !m.offline:
		return m.endOther(ctx, r, store.WishInterrupt, wait)
	}
	return fmt.Errorf("%w: run %s has status %s", ErrNotCancelable, run, r.Status)
}

// drop ends a run removed from the queue before it started.
func (m *Manager) drop(ctx context.Context, e *entry) error {
	<-e.stored // the store answers in any case
	m.mu.Lock()
	taken := e.stage
	m.mu.Unlock()
	var err error
	ctx, rest := context.WithoutCancel(ctx), &store.Line{AsHead: true}
	switch taken {
	case stageErased:
		err = m.db.Commit(ctx, store.Batch{ThreadID: e.run.ThreadID, Delete: &store.Delete{Runs: []string{e.run.ID}},
			Line: rest})
	case stageDropped:
		e.run.Status, e.run.UpdatedAt = Interrupted, m.db.Now()
		err = m.db.Commit(ctx, store.Batch{ThreadID: e.run.ThreadID, Run: &e.run, KV: webhooks(e.run),
			Line: rest})
		defer m.wakeWebhooks()
	}
	e.log.Abandon()
	m.mu.Lock()
	m.forget(e)
	m.mu.Unlock()
	m.startNext(e.run.ThreadID)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrStorage, err)
	}
	return nil
}

// CancelAll ends every live run of a thread and waits for them.
func (m *Manager) CancelAll(ctx context.Context, thread string) error {
	ids, err := m.open(ctx, thread)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := m.Cancel(ctx, thread, id, true); err != nil && !errors.Is(err, ErrNotCancelable) &&
			!errors.Is(err, ErrNotFound) {
			return err
		}
	}
	return nil
}

// CancelOwned ends all runs of an owner, waiting ones too, and returns once they have ended. Runs created meanwhile by a
// disabled owner end when they begin.
func (m *Manager) CancelOwned(ctx context.Context, owner string) error {
	threads, err := m.db.OpenThreads(ctx, owner)
	if err != nil {
		return err
	}
	errs := make([]error, len(threads))
	var ending sync.WaitGroup
	room := make(chan struct{}, endAtOnce)
	for i, thread := range threads {
		room <- struct{}{}
		ending.Go(func() {
			errs[i] = m.CancelAll(ctx, thread)
			<-room
		})
	}
	ending.Wait()
	return errors.Join(errs...)
}

// endAtOnce limits the threads waited for concurrently.
const endAtOnce = 16

// barred returns ErrBarred for a disabled owner.
func (m *Manager) barred(ctx context.Context, owner string) error {
	barred, err := m.db.Barred(ctx, owner)
	if err == nil && barred {
		err = ErrBarred
	}
	return err
}

// admitted calls Config.Admit for a run. id is "" until the run is stored.
func (m *Manager) admitted(ctx context.Context, e *entry, id string) error {
	if m.admit == nil {
		return nil
	}
	opts, err := e.req.Choices()
	if err != nil {
		return err
	}
	return m.admit(ctx, Spec{Owner: e.run.Owner, ThreadID: e.run.ThreadID, RunID: id, AssistantID: e.run.AssistantID,
		Options: &opts.Options})
}

// open returns the unended runs of a thread: held ones first and the active one last, so that ending
// them in this order starts nothing new.
func (m *Manager) open(ctx context.Context, thread string) (ids []string, err error) {
	held, err := m.db.HeldRuns(ctx, thread)
	if err != nil {
		return nil, err
	}
	delayed, err := m.db.DelayedRuns(ctx, thread)
	if err != nil {
		return nil, err
	}
	for _, run := range slices.Concat(held, delayed) {
		ids = append(ids, run.ID)
	}
	line, err := m.db.Line(ctx, thread)
	if err != nil {
		return nil, err
	}
	for _, p := range slices.Backward(line) {
		ids = append(ids, p.Run)
	}
	if e := m.atWork(thread); e != nil && !slices.Contains(ids, e.run.ID) {
		ids = append(ids, e.run.ID)
	}
	return ids, nil
}

// Exclusive runs f while no run of the thread is active or can start; ErrBusy if one is.
func (m *Manager) Exclusive(ctx context.Context, thread string, f func(context.Context) error) error {
	l, err := m.hold(ctx, thread, false)
	if err != nil {
		return err
	}
	defer m.release(l, thread)
	return f(ctx)
}

// release gives a thread back. If other servers can't be told, it stays held until they can.
func (m *Manager) release(l *threadWork, thread string) {
	if l.write.row && !m.tryLetGo(thread) {
		m.wg.Go(func() {
			for !m.tryLetGo(thread) && m.pause(context.Background(), lookAgain) == nil {
			}
			m.released(l, thread)
		})
		return
	}
	m.released(l, thread)
}

func (m *Manager) released(l *threadWork, thread string) {
	defer m.wg.Done()
	m.mu.Lock()
	look := true
	if l.write.over != nil {
		close(l.write.over)
		look = l.changed || l.unstored != nil || m.cluster != nil // the line is unchanged
	}
	l.write = nil
	if !look {
		m.tidy(thread)
	}
	m.mu.Unlock()
	if look {
		m.startNext(thread)
	}
}

// hold takes a thread for an exclusive write. It waits for a run that is just ending, and for brief
// writes.
func (m *Manager) hold(ctx context.Context, thread string, brief bool) (*threadWork, error) {
	for {
		l, gone, err := m.tryHold(thread, brief)
		if err != nil {
			return nil, err
		}
		if l != nil {
			return l, m.alone(ctx, l, thread)
		}
		select {
		case <-gone:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// tryHold takes an idle thread, or returns a channel to wait on.
func (m *Manager) tryHold(thread string, brief bool) (_ *threadWork, gone <-chan struct{}, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.line(thread)
	defer m.tidy(thread)
	switch {
	case m.closed:
		return nil, nil, ErrClosed
	case l.write != nil && l.write.over != nil:
		return nil, l.write.over, nil
	case l.write != nil || l.active != nil && !l.active.log.Over():
		return nil, nil, fmt.Errorf("thread %s: %w", thread, ErrBusy)
	case l.active != nil:
		return nil, l.active.done, nil
	}
	l.write = &write{}
	if brief {
		l.write.over = make(chan struct{})
	}
	m.wg.Add(1)
	return l, nil, nil
}

// alone gives a thread back if a run is in line.
func (m *Manager) alone(ctx context.Context, l *threadWork, thread string) error {
	err := m.storeLateEnd(ctx, thread)
	if err == nil && m.cluster != nil {
		return m.aloneInCluster(ctx, l, thread)
	}
	if err == nil {
		_, err = m.db.Front(ctx, thread)
	}
	switch {
	case errors.Is(err, store.ErrNotFound) || err == nil && m.offline:
		return nil
	case err == nil:
		err = fmt.Errorf("thread %s: %w", thread, ErrBusy)
	}
	m.mu.Lock()
	l.changed = true // another caller may have seen it held
	m.mu.Unlock()
	m.release(l, thread)
	return err
}

// DeleteThread ends the thread's runs and removes its rows, then its files.
func (m *Manager) DeleteThread(ctx context.Context, thread string) error {
	if err := m.CancelAll(ctx, thread); err != nil {
		return err
	}
	return m.Exclusive(ctx, thread, func(ctx context.Context) error { return m.RemoveThread(ctx, thread) })
}
