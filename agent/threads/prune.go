package threads

import (
	"context"
	"errors"
	"fmt"

	"fawn/agent/runs"
	"fawn/store"
)

// Strategy says what becomes of a thread that is pruned.
type Strategy string

// The strategies.
const (
	PruneDelete Strategy = "delete"      // the thread with everything that is its
	KeepLatest  Strategy = "keep_latest" // its history and its runs' events; what it says now stays
)

// Prune deletes threads or their history, and returns how many it did that to. Threads
// that are not there, and with [KeepLatest] those at work, are passed over; with
// [PruneDelete] their runs end first. It stops at the first error, which leaves the rest
// as they are. Errors: ErrInput for an unknown strategy.
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

// forgetHistory leaves a thread only what its newest checkpoint needs. ErrBusy while a run
// is there, ErrNotFound for a thread that is not or has no state.
func forgetHistory(ctx context.Context, db *store.DB, m *runs.Manager, thread string) error {
	return m.Exclusive(ctx, thread, func(ctx context.Context) error {
		return db.Commit(ctx, store.Batch{ThreadID: thread, Delete: &store.Delete{History: true}})
	})
}
