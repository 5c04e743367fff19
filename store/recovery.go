package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"

	"fawn/store/commit"
)

// Delta is a frame of the tail that no event row covers yet.
type Delta struct {
	Thread string
	Seq    int64
	Data   []byte
}

// Tail returns the frames that were durable but unfolded when their writers ended, by thread in order of number:
// earlier processes and dead servers. It reads the whole tail: call it at start-up, before any lane is open. A damaged
// row is logged, and the frames before the damage are returned.
func (db *DB) Tail(ctx context.Context) (map[string][]Delta, error) {
	return db.readTail(ctx, `SELECT id, data FROM tail WHERE id >= ? AND id < ? OR {gone} ORDER BY id`,
		db.w.Span.First, db.w.Span.End)
}

// LeftTail is Tail during operation: it returns the frames of servers that died since. Taking over a run may need the
// frames of several servers, because one may have died while taking it over.
func (db *DB) LeftTail(ctx context.Context) (map[string][]Delta, error) {
	return db.readTail(ctx, `SELECT id, data FROM tail WHERE {gone} ORDER BY id`)
}

func (db *DB) readTail(ctx context.Context, query string, args ...any) (map[string][]Delta, error) {
	tail := map[string][]Delta{}
	err := db.each(ctx, query, args, func(rows *sql.Rows) (bool, error) {
		var id int64
		var b []byte
		if err := rows.Scan(&id, &b); err != nil {
			return false, err
		}
		for len(b) > 0 {
			thread, seq, data, rest, err := commit.NextFrame(b)
			if err != nil {
				db.cfg.Log.Error("tail row is damaged", "row", id, "lost_bytes", len(b), "err", err)
				break
			}
			if len(thread) > 0 { // otherwise it has marks
				tail[string(thread)] = append(tail[string(thread)], Delta{Seq: seq, Data: data})
			}
			b = rest
		}
		return true, nil
	})
	if err != nil {
		return nil, fmt.Errorf("read tail: %w", err)
	}
	seqs := make(map[string]int64, len(tail))
	for thread, deltas := range tail {
		for _, d := range deltas {
			seqs[thread] = max(seqs[thread], d.Seq)
		}
	}
	db.w.NoteOld(seqs)
	at, err := db.standings(ctx, tail)
	if err != nil {
		return nil, fmt.Errorf("read tail: %w", err)
	}
	for thread, deltas := range tail {
		th, there := at[thread]
		deltas = slices.DeleteFunc(deltas, func(d Delta) bool { return !there || th.elsewhere || d.Seq <= th.seq })
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

// ClearTail deletes the rows read by Tail and LeftTail once all of them are folded. Rows with frames of a run that
// still awaits its takeover stay.
func (db *DB) ClearTail(ctx context.Context) error {
	left, err := db.leftRows(ctx)
	if err == nil {
		err = db.w.Writer.Do(ctx, db.w.ClearOld(left))
	}
	if err != nil {
		return fmt.Errorf("clear tail: %w", err)
	}
	return nil
}

// leftRows returns the rows of dead servers up to the first row of each that is still needed. No rows are added to
// them.
func (db *DB) leftRows(ctx context.Context) (list []commit.Span, err error) {
	each := func(row func(id int64), frame func(thread []byte, seq int64)) error {
		const query = `SELECT id, data FROM tail WHERE {gone} ORDER BY id`
		return db.each(ctx, query, nil, func(rows *sql.Rows) (bool, error) {
			var id int64
			var data sql.RawBytes
			if err := rows.Scan(&id, &data); err != nil {
				return false, err
			}
			commit.KeepFrames(data, func(thread []byte, seq int64) bool { frame(thread, seq); return false })
			row(id)
			return true, nil
		})
	}
	threads, nodes := map[string][]Delta{}, map[int64]bool{} // other threads may be deleted meanwhile
	err = each(func(id int64) { nodes[id>>commit.TailBits] = true }, func(thread []byte, _ int64) {
		if _, ok := threads[string(thread)]; !ok && len(thread) > 0 {
			threads[string(thread)] = nil
		}
	})
	if err != nil {
		return nil, err
	}
	at, err := db.standings(ctx, threads)
	if err != nil {
		return nil, err
	}
	needed, keeps := false, int64(-1) // this row, and the server of a needed one
	err = each(func(id int64) {
		node, last := id>>commit.TailBits, len(list)-1
		switch {
		case needed || node == keeps || !nodes[node]:
			needed, keeps = false, node
		case last >= 0 && list[last].First>>commit.TailBits == node:
			list[last].End = id + 1
		default:
			list = append(list, commit.Span{First: id, End: id + 1})
		}
	}, func(thread []byte, seq int64) {
		th := at[string(thread)]
		needed = needed || th.running && seq > th.seq
	})
	return list, err
}

// standing is the progress of a thread.
type standing struct {
	seq       int64 // greatest folded number
	running   bool  // a run has begun but not ended
	elsewhere bool  // it is on another living server
}

// standings returns the states of existing threads.
func (db *DB) standings(ctx context.Context, threads map[string][]Delta) (map[string]standing, error) {
	ids := make([]string, 0, len(threads))
	for id := range threads {
		ids = append(ids, id)
	}
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	at := map[string]standing{}
	const query = `SELECT id, seq, EXISTS (SELECT 1 FROM run WHERE thread = thread.id AND front = 1
		AND status = 'running'), {elsewhere} FROM thread WHERE id IN {list}`
	return at, db.each(ctx, query, []any{db.w.node, string(list)}, func(rows *sql.Rows) (bool, error) {
		var id string
		var s standing
		err := rows.Scan(&id, &s.seq, &s.running, &s.elsewhere)
		at[id] = s
		return true, err
	})
}
