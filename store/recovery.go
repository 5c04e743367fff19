package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
)

// Delta is a frame of the tail that no event row covers yet.
type Delta struct {
	Thread string
	Seq    int64
	Data   []byte
}

// Tail returns the frames that were durable but not folded when the last
// process ended, by thread and in the order of their numbers. It reads the whole
// tail: for start-up, before any lane is open. A damaged row is logged and
// gives the frames before the damage.
func (db *DB) Tail(ctx context.Context) (map[string][]Delta, error) {
	tail := map[string][]Delta{}
	err := db.each(ctx, `SELECT id, data FROM tail ORDER BY id`, nil, func(rows *sql.Rows) (bool, error) {
		var id int64
		var b []byte
		if err := rows.Scan(&id, &b); err != nil {
			return false, err
		}
		for len(b) > 0 {
			thread, seq, data, rest, err := nextFrame(b)
			if err != nil {
				db.w.log.Error("tail row is damaged", "row", id, "lost_bytes", len(b), "err", err)
				break
			}
			tail[string(thread)] = append(tail[string(thread)], Delta{Seq: seq, Data: data})
			b = rest
		}
		return true, nil
	})
	if err != nil {
		return nil, fmt.Errorf("read tail: %w", err)
	}
	last := make(map[string]int64, len(tail))
	for thread, deltas := range tail {
		for _, d := range deltas {
			last[thread] = max(last[thread], d.Seq)
		}
	}
	db.w.mu.Lock()
	db.w.oldSeqs = last
	db.w.mu.Unlock()
	folded, err := db.foldedSeqs(ctx, tail)
	if err != nil {
		return nil, fmt.Errorf("read tail: %w", err)
	}
	for thread, deltas := range tail {
		seq, there := folded[thread]
		deltas = slices.DeleteFunc(deltas, func(d Delta) bool { return !there || d.Seq <= seq })
		if len(deltas) == 0 {
			delete(tail, thread)
			continue
		}
		slices.SortStableFunc(deltas, func(a, b Delta) int { return int(min(1, max(-1, a.Seq-b.Seq))) })
		for i := range deltas {
			deltas[i].Thread = thread
		}
		tail[thread] = deltas
	}
	return tail, nil
}

// ClearTail deletes the frames that were there when the database was opened.
// For start-up, once all of them are folded.
func (db *DB) ClearTail(ctx context.Context) error {
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		return w.exec(`DELETE FROM tail WHERE id <= ?`, w.oldTail)
	}, then: func(w *writer) { w.oldTail, w.oldSeqs = 0, nil }})
	if err != nil {
		return fmt.Errorf("clear tail: %w", err)
	}
	return nil
}

// foldedSeqs returns the greatest folded number of those of the threads that
// exist.
func (db *DB) foldedSeqs(ctx context.Context, threads map[string][]Delta) (map[string]int64, error) {
	ids := make([]string, 0, len(threads))
	for id := range threads {
		ids = append(ids, id)
	}
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	seqs := map[string]int64{}
	return seqs, db.each(ctx, `SELECT id, seq FROM thread WHERE id IN {list}`,
		[]any{string(list)}, func(rows *sql.Rows) (bool, error) {
			var id string
			var seq int64
			err := rows.Scan(&id, &seq)
			seqs[id] = seq
			return true, err
		})
}
