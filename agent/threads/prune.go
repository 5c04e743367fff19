package threads

import (
	"context"
	"errors"
	"fmt"

	"fawn/agent/runs"
	"fawn/store"
)

// Strategy is a way of pruning a thread.
type Strategy string

// The strategies.
const (
	PruneDelete Strategy = "delete"      // delete the thread and everything that belongs to it
	KeepLatest  Strategy = "keep_latest" // delete the history and the runs' events, keep the current state
)

// Prune deletes threads or their history and returns the number of affected ones. Missing threads, and with
// [KeepLatest] busy ones, are skipped; with [PruneDelete] their runs are ended first. It stops at the first error.
// Errors: ErrInput for an unknown strategy.
func Prune(ctx context.Context, db *store.DB, m *runs.Manager, ids []string, s Strategy) (int, error) {
	prune := m.DeleteThread
	switch s {
	case PruneDelete:
	case KeepLatest:
		prune = func(ctx context.Context, thread string) error { return forgetHistory(ctx, db, m, thread) }
	default:
		return 0, fmt.Errorf("%w: strategy %q (want delete or keep_latest)", runs.ErrInput, s)
	}
	n := 0
	for _, id := range ids {
		err := prune(ctx, id)
		switch {
		case err == nil:
			n++
		case errors.Is(err, runs.ErrNotFound), errors.Is(err, store.ErrNotFound), errors.Is(err, runs.ErrBusy):
		default:
			return n, fmt.Errorf("prune thread %s: %w", id, err)
		}
	}
	return n, nil
}

// forgetHistory deletes everything of a thread except its newest checkpoint. ErrBusy during a run, ErrNotFound if the
// thread doesn't exist or has no state.
func forgetHistory(ctx context.Context, db *store.DB, m *runs.Manager, thread string) error {
	return m.Exclusive(ctx, thread, func(ctx context.Context) error {
		return db.Commit(ctx, store.Batch{ThreadID: thread, Delete: &store.Delete{History: true}})
	})
}
