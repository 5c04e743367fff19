package threads

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"fawn/agent/runs"
	"fawn/store"
)

// Before finds a message in a thread's current state, and the newest checkpoint without it before that: a run from that
// checkpoint replays the conversation from that message on. Errors: ErrNotFound, and ErrGone if the earlier state is no
// longer stored.
func Before(ctx context.Context, db *store.DB, thread,
	message string) (checkpoint string, row store.MessageRow, err error) {
	snap, err := db.Snapshot(ctx, thread, "")
	if errors.Is(err, store.ErrNotFound) {
		return "", row, fmt.Errorf("thread %s: %w", thread, runs.ErrNotFound)
	}
	if err != nil {
		return "", row, err
	}
	at := slices.IndexFunc(snap.Messages, func(r store.MessageRow) bool { return r.ID == message })
	if at < 0 {
		return "", row, fmt.Errorf("find message in thread %s: %w", thread, runs.ErrNotFound)
	}
	row = snap.Messages[at]
	gone := fmt.Errorf("read history before a message of thread %s: %w", thread, ErrGone)
	cp := snap.Checkpoint
	for cp.Card.Has(row.N) {
		if cp.Parent == "" {
			return "", row, gone
		}
		if cp, err = db.Checkpoint(ctx, thread, "", cp.Parent); errors.Is(err, store.ErrNotFound) {
			return "", row, gone
		} else if err != nil {
			return "", row, err
		}
	}
	return cp.ID, row, nil
}
