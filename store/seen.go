package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
)

// Mark is the state of a thread in a list, besides its row.
type Mark struct {
	Next   []string // nodes that a run without input would run at its head
	Unseen bool     // its last run ended after its owner last looked
	Status string   // status of the run that ended last, "" for none
	Reason string   // stop reason of that run
}

// latestRuns limits the newest runs of a thread searched for the last one to end: a delayed run may end after runs
// created later.
const latestRuns = "8"

// ended selects the run of thread t that ended last.
const ended = `(SELECT id FROM (SELECT id, last_seq FROM run
	WHERE thread = t.id AND parent = '' AND status NOT IN ('pending', 'running')
	ORDER BY created_at DESC, id DESC LIMIT ` + latestRuns + `) latest ORDER BY last_seq DESC LIMIT 1)`

// Marks returns the marks of threads by id. Missing threads have none.
func (db *DB) Marks(ctx context.Context, threads []string) (map[string]Mark, error) {
	marks := make(map[string]Mark, len(threads))
	ids, err := json.Marshal(threads)
	if err != nil {
		return nil, err
	}
	err = db.each(ctx, `SELECT t.id, coalesce(c.next, '[]'), coalesce(r.last_seq, 0) > t.seen,
			coalesce(r.status, ''), coalesce(r.stop_reason, '')
		FROM thread t LEFT JOIN checkpoint c ON c.thread = t.id AND c.ns = '' AND c.id = t.head
		LEFT JOIN run r ON r.id = `+ended+`
		WHERE t.id IN {list}`, []any{string(ids)}, func(rows *sql.Rows) (bool, error) {
		var id string
		var next []byte
		var m Mark
		if err := rows.Scan(&id, &next, &m.Unseen, &m.Status, &m.Reason); err != nil {
			return false, err
		}
		err := json.Unmarshal(next, &m.Next)
		marks[id] = m
		return true, err
	})
	if err != nil {
		return nil, fmt.Errorf("read marks of threads: %w", err)
	}
	return marks, nil
}

// See records that the owner of a thread has seen everything its runs did until now. Nothing is written without news. A
// missing thread is ignored.
func (db *DB) See(ctx context.Context, thread string) error {
	marks, err := db.Marks(ctx, []string{thread})
	if err != nil || !marks[thread].Unseen {
		return err
	}
	err = db.w.do(ctx, &job{apply: func(w *writer) error {
		return w.exec(`UPDATE thread AS t
			SET seen = {greatest}(seen, coalesce((SELECT last_seq FROM run WHERE run.id = `+ended+`), 0))
			WHERE id = ?`, thread)
	}})
	if err != nil {
		return fmt.Errorf("mark thread %s as seen: %w", thread, err)
	}
	return nil
}
