package store

import (
	"context"
	"database/sql"
	"fmt"

	"fawn/store/commit"
)

// Event is a stored row of a thread's log. It stands for the numbers Seq..To.
type Event struct {
	Thread string // the batch's thread when written
	Seq    int64
	To     int64 // 0 is written as Seq
	Run    string
	Kind   string
	Data   []byte
}

// Events returns the rows that end after a cursor and start at or before until
// (0 means no end), ordered by where they end, so that the To of the last one
// is the cursor for the next page. It stops after limitBytes of data (<= 0 means
// no limit), but not before the first row.
func (db *DB) Events(ctx context.Context, thread string, after, until int64, limitBytes int) ([]Event, error) {
	events := []Event{}
	size := 0
	err := db.each(ctx, `SELECT seq, "to", run, kind, data FROM event
		WHERE thread = ? AND "to" > ? AND (CAST(? AS BIGINT) = 0 OR seq <= ?) ORDER BY "to"`,
		[]any{thread, after, until, until}, func(rows *sql.Rows) (bool, error) {
			e := Event{Thread: thread}
			if err := rows.Scan(&e.Seq, &e.To, &e.Run, &e.Kind, &e.Data); err != nil {
				return false, err
			}
			events = append(events, e)
			size += len(e.Data)
			return limitBytes <= 0 || size < limitBytes, nil
		})
	if err != nil {
		return nil, fmt.Errorf("read events of thread %s: %w", thread, err)
	}
	return events, nil
}

// LastEvents calls more with rows of a thread's log, newest first, until it returns false.
func (db *DB) LastEvents(ctx context.Context, thread string, more func(Event) (bool, error)) error {
	err := db.each(ctx, `SELECT seq, "to", run, kind, data FROM event WHERE thread = ? ORDER BY "to" DESC`,
		[]any{thread}, func(rows *sql.Rows) (bool, error) {
			e := Event{Thread: thread}
			if err := rows.Scan(&e.Seq, &e.To, &e.Run, &e.Kind, &e.Data); err != nil {
				return false, err
			}
			return more(e)
		})
	if err != nil {
		return fmt.Errorf("read last events of thread %s: %w", thread, err)
	}
	return nil
}

// EventsBack calls more with the rows of a thread's log that end at or before a cursor, newest first, until it returns
// false.
func (db *DB) EventsBack(ctx context.Context, thread string, until int64, more func(Event) (bool, error)) error {
	err := db.each(ctx, `SELECT seq, "to", run, kind, data FROM event
		WHERE thread = ? AND "to" <= ? ORDER BY "to" DESC`,
		[]any{thread, until}, func(rows *sql.Rows) (bool, error) {
			e := Event{Thread: thread}
			if err := rows.Scan(&e.Seq, &e.To, &e.Run, &e.Kind, &e.Data); err != nil {
				return false, err
			}
			return more(e)
		})
	if err != nil {
		return fmt.Errorf("read events of thread %s: %w", thread, err)
	}
	return nil
}

// LastSeq returns the greatest number that is or ever was durable for a thread, 0 for none.
func (db *DB) LastSeq(ctx context.Context, thread string) (int64, error) {
	last, err := db.lastSeq(ctx, thread)
	if err != nil {
		return 0, fmt.Errorf("read last event number of thread %s: %w", thread, err)
	}
	return last, nil
}

// lastSeq finds the last event number in memory, then in the tail of the previous process, then in folded events,
// because a number moves in this order.
func (db *DB) lastSeq(ctx context.Context, thread string) (int64, error) {
	last, old, all := db.w.Known(thread, !db.Shared())
	if !all {
		const left = `SELECT data FROM tail WHERE id >= ? AND id <= ? OR {gone}`
		err := db.each(ctx, left, []any{db.w.Span.First, old}, func(rows *sql.Rows) (bool, error) {
			var data sql.RawBytes
			if err := rows.Scan(&data); err != nil {
				return false, err
			}
			commit.KeepFrames(data, func(id []byte, seq int64) bool {
				if string(id) == thread {
					last = max(last, seq)
				}
				return false
			})
			return true, nil
		})
		if err != nil {
			return 0, err
		}
	}
	var folded int64
	err := db.queryRow(db.brief(ctx), `SELECT coalesce((SELECT seq FROM thread WHERE id = ?), 0)`, []any{thread},
		&folded)
	return max(last, folded), err
}

func (p *batch) putEvents() {
	if p.noEvents || len(p.Events) == 0 {
		return
	}
	for _, e := range p.Events {
		p.add("write events of thread", p.ThreadID,
			`INSERT INTO event(thread, seq, "to", run, kind, data) VALUES (?, ?, ?, ?, ?, ?)`,
			p.ThreadID, e.Seq, max(e.Seq, e.To), e.Run, e.Kind, blob(e.Data))
	}
	if p.Patch == nil { // otherwise patchThread has done it
		p.raiseSeq(p.To)
	}
}
