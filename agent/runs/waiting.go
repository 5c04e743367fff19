package runs

import (
	"context"
	"errors"
	"fmt"

	"fawn/store"
)

// A held run waits outside of the line, like a delayed one, and blocks nothing. It is queued when the previous run
// succeeds; if that one fails, is canceled or asks a question, it waits until it is released. The mark is stored in its
// row, so it survives a restart.

// Waiting returns the held runs of a thread, in the order they came.
func (m *Manager) Waiting(thread string) []store.Run {
	list, err := m.db.HeldRuns(m.ctx, thread)
	if err != nil && !m.closing() {
		m.logger.Error("couldn't read a thread's held runs", "thread", thread, "err", err)
	}
	return list
}

// Release queues a held run after the running one. ErrNotFound if it no longer waits.
func (m *Manager) Release(thread, run string) error {
	if m.closing() {
		return ErrClosed
	}
	ctx := context.Background()
	row, err := m.db.Run(ctx, run)
	if err == nil && (!row.Held || row.ThreadID != thread) {
		err = store.ErrNotFound
	}
	if err == nil {
		err = m.letIn(ctx, row, "")
	}
	if errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("run %s: %w", run, ErrNotFound)
	}
	return err
}

// letIn queues a run that waits outside of the line, by a strategy.
func (m *Manager) letIn(ctx context.Context, run store.Run, strategy string) error {
	err := m.db.Commit(ctx, store.Batch{ThreadID: run.ThreadID, Line: &store.Line{Enter: run.ID, Strategy: strategy}})
	if err != nil {
		return err
	}
	m.cancelQueued(ctx, run.ThreadID, strategy)
	m.startNext(run.ThreadID)
	return nil
}
