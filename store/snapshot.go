package store

import (
	"context"
	"database/sql"
	"fmt"
)

// Snapshot is a checkpoint with the bodies its card names, messages in the order
// of the conversation.
type Snapshot struct {
	Checkpoint Checkpoint
	Messages   []MessageRow // shared by readers: don't modify
	Fields     map[string][]byte

	// Incarnation distinguishes the thread from a deleted one with the same id; 0 without a thread. Together with it, a
	// message's number is permanent.
	Incarnation int64
}

// Snapshot reads a checkpoint of the root namespace and its rows as of one
// moment; an empty id means the thread's head. ErrNotFound if the checkpoint
// or a row of it is gone.
func (db *DB) Snapshot(ctx context.Context, thread, checkpoint string) (Snapshot, error) {
	thread = clean(thread)
	query, args := checkpointQuery(thread, "", checkpoint)
	return db.snapshot(ctx, thread, []string{query}, func(v view) (Checkpoint, error) {
		return scanCheckpoint(v.stmts[4].QueryRowContext(v.ctx, args...))
	})
}

// SnapshotOf reads the rows of a checkpoint at hand. ErrNotFound if one of
// them is gone.
func (db *DB) SnapshotOf(ctx context.Context, cp Checkpoint) (Snapshot, error) {
	return db.snapshot(ctx, cp.Thread, nil, func(view) (Checkpoint, error) { return cp, nil })
}

// snapshot calls load in a view with the queries more after its own four. Cached messages aren't read again.
func (db *DB) snapshot(ctx context.Context, thread string, more []string,
	load func(view) (Checkpoint, error)) (Snapshot, error) {
	queries := append([]string{
		`SELECT n, id, body FROM message WHERE thread = ? AND n BETWEEN ? AND ? ORDER BY n`,
		`SELECT body FROM field WHERE thread = ? AND name = ? AND version = ?`,
		readBlob,
		`SELECT coalesce((SELECT incarnation FROM thread WHERE id = ?), 0)`,
	}, more...)
	var snap Snapshot
	var fresh []MessageRow
	err := db.view(db.brief(ctx), queries, func(v view) (err error) {
		if err := v.stmts[3].QueryRowContext(v.ctx, thread).Scan(&snap.Incarnation); err != nil {
			return translate(err)
		}
		if snap.Checkpoint, err = load(v); err != nil {
			return err
		}
		recent := db.rows.of(thread, snap.Incarnation)
		if snap.Messages, fresh, err = cardMessages(v, snap.Checkpoint, recent); err != nil {
			return err
		}
		snap.Fields, err = cardFields(v, snap.Checkpoint)
		return err
	})
	if err != nil {
		return Snapshot{}, fmt.Errorf("read snapshot of thread %s: %w", thread, err)
	}
	db.rows.keep(thread, snap.Incarnation, fresh)
	return snap, nil
}

// cardMessages returns the messages of a checkpoint, and those missing from recent.
func cardMessages(v view, cp Checkpoint, recent *recent) (all, fresh []MessageRow, err error) {
	all = []MessageRow{}
	for _, r := range cp.Card.Messages {
		for n := r.From; n <= r.To; {
			var gap Range
			if all, gap = recent.take(all, n, r.To); gap.From > gap.To {
				break
			}
			before := len(all)
			err := eachRow(v.ctx, v.stmts[0], []any{cp.Thread, gap.From, gap.To}, func(rows *sql.Rows) (bool, error) {
				var m MessageRow
				err := rows.Scan(&m.N, &m.ID, &m.Body)
				all = append(all, m)
				return true, err
			})
			if err != nil {
				return nil, nil, err
			}
			if got := int64(len(all) - before); got != gap.To-gap.From+1 {
				return nil, nil, fmt.Errorf("checkpoint %s: messages %d to %d: %d rows: %w",
					cp.ID, gap.From, gap.To, got, ErrNotFound)
			}
			for i, m := range all[before:] {
				if all[before+i].Body, err = filled(v.ctx, v.stmts[2], cp.Thread, m.Body); err != nil {
					return nil, nil, fmt.Errorf("checkpoint %s: message %d: %w", cp.ID, m.N, err)
				}
			}
			fresh = append(fresh, all[before:]...)
			n = gap.To + 1
		}
	}
	return all, fresh, nil
}

func cardFields(v view, cp Checkpoint) (map[string][]byte, error) {
	fields := make(map[string][]byte, len(cp.Card.Fields))
	for name, version := range cp.Card.Fields {
		var body []byte
		err := translate(v.stmts[1].QueryRowContext(v.ctx, cp.Thread, name, version).Scan(&body))
		if err == nil {
			body, err = filled(v.ctx, v.stmts[2], cp.Thread, body)
		}
		if err != nil {
			return nil, fmt.Errorf("checkpoint %s: field %s version %d: %w", cp.ID, name, version, err)
		}
		fields[name] = body
	}
	return fields, nil
}

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
