package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Box is the location of a thread's sandbox.
type Box struct {
	Node  int64 // server that had it last, 0 for none
	Lives bool  // Node is alive and has it
}

// Box returns where the sandbox of a thread is, none for a thread that does not exist.
func (db *DB) Box(ctx context.Context, thread string) (b Box, err error) {
	err = db.queryRow(ctx, `SELECT box, EXISTS (SELECT 1 FROM node WHERE node.id = thread.box) FROM thread WHERE id = ?`,
		[]any{thread}, &b.Node, &b.Lives)
	if errors.Is(err, ErrNotFound) {
		return Box{}, nil
	}
	if err != nil {
		return Box{}, fmt.Errorf("sandbox of thread %s: %w", thread, err)
	}
	return b, nil
}

// TakeBox records that this server has the sandbox of a thread, regardless of its previous server. It returns false if no
// run of the thread is active here, since another server may be about to start one. It doesn't wait for groups of changes.
func (db *DB) TakeBox(ctx context.Context, thread string) (bool, error) {
	return db.cluster().TakeBox(ctx, thread)
}

// LeaveBox releases a thread's sandbox and wakes the servers that wait for it.
func (db *DB) LeaveBox(ctx context.Context, thread string) error {
	err := db.cluster().LeaveBox(ctx, thread)
	if err == nil {
		db.Say(WakeBox, 0, thread)
	}
	return err
}

// WishBoxAway asks the server with the sandbox of a thread to end it, because a run of the thread on this server needs
// it. The request is valid as long as the run.
func (db *DB) WishBoxAway(ctx context.Context, thread string) error {
	err := db.cluster().WishBoxAway(ctx, thread)
	if err == nil {
		db.Say(WakeBox, 0, thread)
	}
	return err
}

// BarBoxes asks servers to end the sandboxes of a disabled user.
func (db *DB) BarBoxes(threads []string) {
	if len(threads) > 0 {
		db.Say(WakeBox, 0, threads...)
	}
}

// UnwantedBoxes returns threads whose sandboxes on this server should end: another server requested it, or their user
// is disabled and has no runs.
func (db *DB) UnwantedBoxes(ctx context.Context) (threads []string, err error) {
	err = db.each(ctx, `SELECT id FROM thread WHERE box = ? AND (box_wish > 0 AND EXISTS (SELECT 1 FROM run
			WHERE run.thread = thread.id AND run.front = 1 AND run.node = thread.box_wish)
		OR EXISTS (SELECT 1 FROM "user" u WHERE u.id = thread.owner AND u.disabled <> 0)
			AND NOT EXISTS (SELECT 1 FROM run WHERE run.thread = thread.id AND run.front = 1))`, []any{db.w.node},
		func(rows *sql.Rows) (bool, error) {
			var thread string
			err := rows.Scan(&thread)
			threads = append(threads, thread)
			return true, err
		})
	if err != nil {
		return nil, fmt.Errorf("sandboxes that are to end: %w", err)
	}
	return threads, nil
}
