package runs

import (
	"context"
	"errors"
	"time"

	"fawn/store"
)

const (
	hearEvery = time.Second            // polling interval of other servers' changes to a thread, in addition to notifications
	lookEvery = 250 * time.Millisecond // polling interval for a run's end elsewhere, without notifications
)

// endElsewhere requests the end of a run on another server through its row. With wait it returns once the run has
// ended.
func (m *Manager) endElsewhere(ctx context.Context, run store.Run, wish string, wait bool) error {
	if m.closing() {
		return ErrClosed
	}
	err := m.db.Commit(ctx, store.Batch{ThreadID: run.ThreadID, Wishes: []store.Wish{{Run: run.ID, Wish: wish}}})
	if errors.Is(err, store.ErrNotFound) { // deleted meanwhile
		return nil
	}
	if err != nil {
		return err
	}
	if m.cluster != nil {
		m.cluster.nudge() // it may be about to begin here
	}
	if !wait {
		return nil
	}
	return m.until(ctx, run.ThreadID, func() (bool, error) {
		row, err := m.db.Run(ctx, run.ID)
		if errors.Is(err, store.ErrNotFound) {
			return true, nil
		}
		return err == nil && Done(row.Status), err
	})
}

// until waits for a condition on a thread: it checks after notified changes of other servers, and periodically.
func (m *Manager) until(ctx context.Context, thread string, is func() (bool, error)) error {
	for {
		more, leave := m.listen(thread)
		so, err := is()
		if !so && err == nil {
			err = m.waitWake(ctx, more)
		}
		leave()
		if so || err != nil {
			return err
		}
	}
}

// waitWake waits briefly for a notification.
func (m *Manager) waitWake(ctx context.Context, more <-chan struct{}) error {
	often := hearEvery
	if m.cluster == nil || m.db.Polls() {
		often = lookEvery
	}
	timer := time.NewTimer(often)
	defer timer.Stop()
	select {
	case <-more:
	case <-timer.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-m.ctx.Done():
		return ErrClosed
	}
	return nil
}

// hear ends this server's runs that were requested to end. Those already ending continue.
func (m *Manager) hear(ctx context.Context, wishes []store.Wished) error {
	for _, w := range wishes {
		undo := w.Wish.Wish == store.WishRollback
		if e := m.atWork(w.Thread); e != nil && e.run.ID == w.Run {
			m.endLive(w.Thread, w.Run, undo)
			continue
		}
		if !m.cancelChild(w.Thread, w.Run) { // it waits for its turn
			if err := m.dropWaiting(ctx, w.Run, undo); err != nil {
				return err
			}
			m.startNext(w.Thread)
		}
	}
	return nil
}
