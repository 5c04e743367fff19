package runs

import (
	"context"
	"errors"
	"sync"

	"fawn/store"
)

// takeAtOnce limits the runs taken over in one batch.
const takeAtOnce = 64

// takeOver continues claimed runs of lost servers here.
func (m *Manager) takeOver(ctx context.Context, list []store.Orphan) error {
	m.taking(list, true)
	defer m.taking(list, false)
	tail, err := m.db.LeftTail(ctx)
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	places, errs := make(chan struct{}, recoverAtOnce), make([]error, len(list))
	taken := make([]string, len(list))
	for i, o := range list {
		wg.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			taken[i], errs[i] = m.takeUpRun(ctx, o, tail)
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, thread := range taken {
		delete(tail, thread)
	}
	for thread, frames := range tail {
		if err := m.keepLeft(ctx, thread, frames); err != nil {
			return err
		}
	}
	return m.db.ClearTail(ctx)
}

// taking marks the runs that are being taken over.
func (m *Manager) taking(list []store.Orphan, begins bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, o := range list {
		if begins {
			m.cluster.taking[o.Run] = true
		} else {
			delete(m.cluster.taking, o.Run)
		}
	}
}

// takeUpRun continues one run, or ends it. It returns the thread whose tail events then belong to the run: stored
// with it, or reverted.
func (m *Manager) takeUpRun(ctx context.Context, o store.Orphan, tail map[string][]store.Delta) (string, error) {
	run, err := m.db.Run(ctx, o.Run)
	if errors.Is(err, store.ErrNotFound) || err == nil && run.Status != Running {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if o.Handed { // a handover is not another attempt
		run.Attempt--
	}
	e, err := m.recoverRun(ctx, run, tail[run.ThreadID])
	if err != nil {
		m.logger.Error("couldn't take over a run cleanly", "thread", run.ThreadID, "run", run.ID, "err", err)
		err = m.fail(ctx, run, err)
	}
	if err != nil {
		return "", err
	}
	if e != nil {
		if err := m.register(e, stageQueued); err != nil {
			return "", err
		}
	}
	m.startFront(run.ThreadID, e, false)
	return run.ThreadID, nil
}

// keepLeft stores the last events of an ended run that couldn't store them.
func (m *Manager) keepLeft(ctx context.Context, thread string, frames []store.Delta) error {
	front, err := m.db.Front(ctx, thread)
	if err == nil && front.Status == Running { // they belong to a run being taken over, here or elsewhere
		return nil
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return m.keepNumbers(ctx, thread, frames)
}
