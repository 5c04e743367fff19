package runs

import (
	"context"
	"errors"
	"time"

	"fawn/store"
)

const (
	hearEvery = time.Second            // how often wishes of others are looked for
	lookEvery = 250 * time.Millisecond // how often it is looked whether a run elsewhere has ended
)

// endElsewhere lets a run end that is not here: the wish in its row is heard where it is. With wait
// it returns once the run has ended.
func (m *Manager) endElsewhere(ctx context.Context, run store.Run, wish string, wait bool) error {
	if m.leaving() {
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
		m.cluster.tell(HintWish)
		m.cluster.nudge() // it may be about to begin here
	}
	if !wait {
		return nil
	}
	timer := time.NewTicker(lookEvery)
	defer timer.Stop()
	for {
		row, err := m.db.Run(ctx, run.ID)
		if errors.Is(err, store.ErrNotFound) || err == nil && Done(row.Status) {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case <-timer.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-m.ctx.Done():
			return ErrClosed
		}
	}
}

// hear carries out what other servers wish of runs that are at work here, for as long as the manager lives.
func (m *Manager) hear() {
	timer := time.NewTicker(hearEvery)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-m.ctx.Done():
			return
		}
		if err := m.hearOnce(m.ctx); err != nil && m.ctx.Err() == nil {
			m.logger.Error("wishes of others could not be read", "err", err)
		}
	}
}

// hearOnce ends the runs at work here that are to end. Those that are ending already go on ending.
func (m *Manager) hearOnce(ctx context.Context) error {
	wishes, threads, err := m.db.Wished(ctx, m.node)
	if err != nil {
		return err
	}
	for i, w := range wishes {
		if e := m.atWork(threads[i]); e != nil && e.run.ID == w.Run {
			m.endLive(threads[i], w.Run, w.Wish == store.WishRollback)
			continue
		}
		switch { // it waits for its turn, or works for another run
		case m.cancelChild(threads[i], w.Run):
		case m.cluster != nil:
			if err := m.dropWaiting(ctx, w.Run, w.Wish == store.WishRollback); err != nil {
				return err
			}
			fallthrough
		default:
			m.look(threads[i])
		}
	}
	return nil
}
