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
	return db.snapshot(ctx, thread, nil, []string{query}, func(v view) (Checkpoint, error) {
		return scanCheckpoint(v.stmts[4].QueryRowContext(v.ctx, args...))
	})
}

// SnapshotOf reads the rows of a checkpoint at hand. ErrNotFound if one of
// them is gone.
func (db *DB) SnapshotOf(ctx context.Context, cp Checkpoint) (Snapshot, error) {
	return db.snapshot(ctx, cp.Thread, nil, nil, func(view) (Checkpoint, error) { return cp, nil })
}

// History reads several checkpoints of one thread, one after the other, and what they have in common only once. It
// belongs to one goroutine and one list of checkpoints: afterwards, rolled back versions of fields may be given again.
type History struct {
	db          *DB
	incarnation int64 // of what is in fields
	fields      map[FieldVersion][]byte
}

// FieldVersion names a version of a thread's field.
type FieldVersion struct {
	Name    string
	Version int64
}

// History returns a reader of checkpoints.
func (db *DB) History() *History { return &History{db: db, fields: map[FieldVersion][]byte{}} }

// SnapshotOf is [DB.SnapshotOf].
func (h *History) SnapshotOf(ctx context.Context, cp Checkpoint) (Snapshot, error) {
	return h.db.snapshot(ctx, cp.Thread, h, nil, func(view) (Checkpoint, error) { return cp, nil })
}

// Message is [DB.Message].
func (h *History) Message(ctx context.Context, thread string, n int64) (MessageRow, error) {
	if known := h.db.rows.of(thread, h.incarnation); known != nil {
		if row, gap := known.take(nil, n, n); gap.From > gap.To {
			return row[0], nil
		}
	}
	return h.db.Message(ctx, thread, n)
}

// Field is [DB.Field].
func (h *History) Field(ctx context.Context, thread, name string, version int64) ([]byte, error) {
	if body, ok := h.fields[FieldVersion{name, version}]; ok {
		return body, nil
	}
	return h.db.Field(ctx, thread, name, version)
}

// at forgets the fields of another incarnation.
func (h *History) at(incarnation int64) map[FieldVersion][]byte {
	if h == nil {
		return nil
	}
	if h.incarnation != incarnation {
		clear(h.fields)
		h.incarnation = incarnation
	}
	return h.fields
}

// snapshot calls load in a view with the queries more after its own four. Cached messages aren't read again, nor are
// fields that h has; it may be nil.
func (db *DB) snapshot(ctx context.Context, thread string, h *History, more []string,
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
		snap.Fields, err = cardFields(v, snap.Checkpoint, h.at(snap.Incarnation))
		return err
	})
	if err != nil {
		return Snapshot{}, fmt.Errorf("read snapshot of thread %s: %w", thread, err)
	}
	db.rows.keep(thread, snap.Incarnation, fresh)
	return snap, nil
}

// mostAhead limits the messages for which there is room before they are read: the card may be damaged.
const mostAhead = 1 << 14

// cardMessages returns the messages of a checkpoint, and those missing from recent.
func cardMessages(v view, cp Checkpoint, recent *recent) (all, fresh []MessageRow, err error) {
	total := int64(0)
	for _, r := range cp.Card.Messages {
		total += max(0, r.To-r.From+1)
	}
	all = make([]MessageRow, 0, min(total, mostAhead))
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

// cardFields returns the fields of a checkpoint; known has some of them, and gets the others unless it is nil.
func cardFields(v view, cp Checkpoint, known map[FieldVersion][]byte) (map[string][]byte, error) {
	fields := make(map[string][]byte, len(cp.Card.Fields))
	for name, version := range cp.Card.Fields {
		body, ok := known[FieldVersion{name, version}]
		if ok {
			fields[name] = body
			continue
		}
		err := translate(v.stmts[1].QueryRowContext(v.ctx, cp.Thread, name, version).Scan(&body))
		if err == nil {
			body, err = filled(v.ctx, v.stmts[2], cp.Thread, body)
		}
		if err != nil {
			return nil, fmt.Errorf("checkpoint %s: field %s version %d: %w", cp.ID, name, version, err)
		}
		fields[name] = body
		if known != nil {
			known[FieldVersion{name, version}] = body
		}
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
