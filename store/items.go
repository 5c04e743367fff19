package store

import (
	"context"
	"fmt"
)

// Message returns one row of a thread's message log, or ErrNotFound.
func (db *DB) Message(ctx context.Context, thread string, n int64) (MessageRow, error) {
	row := MessageRow{N: n}
	err := db.queryRow(db.brief(ctx), `SELECT id, body FROM message WHERE thread = ? AND n = ?`, []any{thread, n},
		&row.ID, &row.Body)
	if err == nil {
		err = db.fill(ctx, thread, &row.Body, `SELECT body FROM message WHERE thread = ? AND n = ?`, thread, n)
	}
	if err != nil {
		return MessageRow{}, fmt.Errorf("read message %d of thread %s: %w", n, thread, err)
	}
	return row, nil
}

// Field returns one version of a thread's field, or ErrNotFound.
func (db *DB) Field(ctx context.Context, thread, name string, version int64) ([]byte, error) {
	var body []byte
	query, args := `SELECT body FROM field WHERE thread = ? AND name = ? AND version = ?`, []any{thread, name, version}
	err := db.queryRow(db.brief(ctx), query, args, &body)
	if err == nil {
		err = db.fill(ctx, thread, &body, query, args...)
	}
	if err != nil {
		return nil, fmt.Errorf("read field %s version %d of thread %s: %w", name, version, thread, err)
	}
	return body, nil
}
