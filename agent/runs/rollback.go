package runs

import (
	"context"
	"errors"
	"fmt"

	"fawn/agent/runs/recorder"
	"fawn/agent/runs/resume"
	"fawn/agent/runs/runevent"
	"fawn/store"
)

// Rollback ends a run and reverts everything it has stored. Its files stay unless they are versioned. With wait it
// returns once that is done. An ended run returns ErrNotCancelable, an unknown one ErrNotFound.
func (m *Manager) Rollback(ctx context.Context, thread, run string, wait bool) error {
	e, drop := m.endLive(thread, run, true)
	if e == nil {
		r, err := m.db.Run(ctx, run)
		switch {
		case errors.Is(err, store.ErrNotFound) || err == nil && thread != "" && r.ThreadID != thread:
			return fmt.Errorf("run %s: %w", run, ErrNotFound)
		case err != nil:
			return err
		case !Done(r.Status) && !m.has(run):
			return m.endOther(ctx, r, store.WishRollback, wait)
		}
		return fmt.Errorf("%w: run %s has status %s", ErrNotCancelable, run, r.Status)
	}
	return m.await(ctx, e, drop, wait, store.WishRollback)
}

// undo reverts a live run and releases its readers.
func (m *Manager) undo(ctx context.Context, e *entry, rec *recorder.Recorder) (err error) {
	batch := func(first, last int64) (store.Batch, error) {
		run := e.run
		run.FirstSeq = first
		return resume.Undo(ctx, m.db, m.files, run, last)
	}
	if rec != nil {
		err = rec.TakeBack(ctx, runevent.End{Status: Interrupted}, batch)
	} else if b, failed := batch(e.run.FirstSeq, 0); failed != nil {
		err = failed
	} else if failed := m.db.Commit(ctx, b); failed != nil {
		err = fmt.Errorf("%w: roll back run %s: %w", ErrStorage, e.run.ID, failed)
	}
	if err != nil {
		return err
	}
	e.log.Abandon()
	return nil
}

// rollBack reverts a run interrupted by a crash.
func (m *Manager) rollBack(ctx context.Context, run store.Run) error {
	last, err := m.db.LastSeq(ctx, run.ThreadID)
	if err != nil {
		return err
	}
	b, err := resume.Undo(ctx, m.db, m.files, run, last)
	if err != nil {
		return err
	}
	return m.db.Commit(ctx, b)
}
