package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"fawn/store"
)

// Before finds a message in a thread as it stands, and the newest checkpoint on the way
// there which does not have it: a run from that checkpoint tells the story anew from that
// message on. Errors: ErrNotFound, and ErrGone when what was before is not stored any more.
func (m *Manager) Before(ctx context.Context, thread,
	message string) (checkpoint string, row store.MessageRow, err error) {
	snap, err := m.db.Snapshot(ctx, thread, "")
	if errors.Is(err, store.ErrNotFound) {
		return "", row, fmt.Errorf("thread %s: %w", thread, ErrNotFound)
	}
	if err != nil {
		return "", row, err
	}
	at := slices.IndexFunc(snap.Messages, func(r store.MessageRow) bool { return r.ID == message })
	if at < 0 {
		return "", row, fmt.Errorf("find message in thread %s: %w", thread, ErrNotFound)
	}
	row = snap.Messages[at]
	gone := fmt.Errorf("read history before a message of thread %s: %w", thread, ErrGone)
	cp := snap.Checkpoint
	for cp.Card.Has(row.N) {
		if cp.Parent == "" {
			return "", row, gone
		}
		if cp, err = m.db.Checkpoint(ctx, thread, "", cp.Parent); errors.Is(err, store.ErrNotFound) {
			return "", row, gone
		} else if err != nil {
			return "", row, err
		}
	}
	return cp.ID, row, nil
}

// From is the checkpoint that a stored run was told to start from, "" for the head.
func From(r store.Run) string {
	var req Request
	if json.Unmarshal(r.Kwargs, &req) != nil {
		return ""
	}
	req.Thread = r.ThreadID
	id, err := req.Base()
	if err != nil {
		return ""
	}
	return id
}
