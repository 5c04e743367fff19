package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"fawn/store/commit"
	"fawn/store/wake"
)

const (
	readTailBytes = 1 << 20 // limit of one read of another server's tail, except for its last row
	readTailRows  = 1000
)

// TailRow is the wanted part of a server's tail row. Frames are in order.
type TailRow struct {
	ID     int64
	Frames []Delta
	Folded map[string]int64 // by thread, the number up to which events are folded
}

// TailEnd returns the last row in the tail of a server, 0 for none.
func (db *DB) TailEnd(ctx context.Context, server int64) (last int64, err error) {
	span := commit.SpanOf(server)
	err = db.queryRow(ctx, `SELECT coalesce(max(id), 0) FROM tail WHERE id >= ? AND id < ?`,
		[]any{span.First, span.End}, &last)
	if err != nil {
		return 0, fmt.Errorf("end of the tail of server %d: %w", server, err)
	}
	return last, nil
}

// TailRows returns rows of a server's tail after one, in order, possibly limited: only those about wanted threads. A
// server's rows have no gaps, except for swept ones that are no longer needed.
func (db *DB) TailRows(ctx context.Context, server, after int64, wanted func(thread []byte) bool) ([]TailRow, error) {
	span := commit.SpanOf(server)
	var list []TailRow
	size := 0
	err := db.each(ctx, `SELECT id, data FROM tail WHERE id >= ? AND id < ? ORDER BY id LIMIT ?`,
		[]any{max(span.First, after+1), span.End, readTailRows}, func(rows *sql.Rows) (bool, error) {
			var data sql.RawBytes
			row := TailRow{}
			if err := rows.Scan(&row.ID, &data); err != nil {
				return false, err
			}
			size += len(data)
			if err := row.read(data, wanted); err != nil {
				return false, fmt.Errorf("row %d: %w", row.ID, err)
			}
			list = append(list, row)
			return size < readTailBytes, nil
		})
	if err != nil {
		return nil, fmt.Errorf("read the tail of server %d: %w", server, err)
	}
	if size < readTailBytes && len(list) < readTailRows {
		db.tails.note(server, time.Now())
	}
	return list, nil
}

func (r *TailRow) read(b []byte, wanted func(thread []byte) bool) error {
	for len(b) > 0 {
		thread, seq, data, rest, err := commit.NextFrame(b)
		if err != nil {
			return err
		}
		b = rest
		if len(thread) > 0 {
			if wanted(thread) {
				r.Frames = append(r.Frames, Delta{Thread: string(thread), Seq: seq, Data: append([]byte(nil), data...)})
			}
			continue
		}
		for marks := data; len(marks) > 0; {
			if thread, seq, _, marks, err = commit.NextFrame(marks); err != nil {
				return err
			}
			if wanted(thread) {
				if r.Folded == nil {
					r.Folded = map[string]int64{}
				}
				r.Folded[string(thread)] = max(r.Folded[string(thread)], seq)
			}
		}
	}
	return nil
}

// Underway is the position of a run at one moment.
type Underway struct {
	Status   string
	Node     int64 // server that has it, 0 for none
	LastSeq  int64 // its last event, if it has ended
	Folded   int64 // number up to which its thread's events are in rows
	TailFrom int64 // row of the node's tail before any of the run
}

// Underway returns the positions of open runs.
func (db *DB) Underway(ctx context.Context, runs ...string) (map[string]Underway, error) {
	list, err := json.Marshal(runs)
	if err != nil {
		return nil, err
	}
	at := make(map[string]Underway, len(runs))
	err = db.each(ctx, `SELECT run.id, run.status, run.node, run.last_seq, thread.seq, {tail from}
		FROM run JOIN thread ON thread.id = run.thread WHERE run.id IN {list}`, []any{string(list)},
		func(rows *sql.Rows) (bool, error) {
			var id string
			var u Underway
			err := rows.Scan(&id, &u.Status, &u.Node, &u.LastSeq, &u.Folded, &u.TailFrom)
			at[id] = u
			return true, err
		})
	if err != nil {
		return nil, fmt.Errorf("where runs are: %w", err)
	}
	return at, nil
}

// ReadsTail notifies a server that its tail is read here, so that it announces its writes. It is valid for some
// seconds.
func (db *DB) ReadsTail(server int64) { db.Say(wake.Follow, server) }
