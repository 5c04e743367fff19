package store

import (
	"context"
	"database/sql"
	"fmt"
)

// Self is the number of this server among those that ever had the database.
func (db *DB) Self() int64 { return db.w.node }

// Shared says that other servers can reach the database, too.
func (db *DB) Shared() bool {
	_, file := db.engine.(*sqliteEngine)
	return !file
}

// Crowded says whether this server has no room for more runs. As long as it is so, those that its batches bring to
// the front are for any server that has.
func (db *DB) Crowded(full bool) { db.w.crowded.Store(full) }

// TakeOver gives this server the runs at the front of all lines. For start-up: whoever had them is
// not there any more, as a database has one server at a time.
func (db *DB) TakeOver(ctx context.Context) error {
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		return w.exec(`UPDATE run SET node = ?1 WHERE front = 1 AND node <> ?1`, w.node)
	}})
	if err != nil {
		return fmt.Errorf("take over runs: %w", err)
	}
	return nil
}

// Claim gives this server a run at the front that nobody has. ErrNotFound when it is not so any more.
func (db *DB) Claim(ctx context.Context, run string) error {
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		n, err := w.change(`UPDATE run SET node = ? WHERE id = ? AND front = 1 AND node = 0`, w.node, run)
		if err == nil && n == 0 {
			err = ErrNotFound
		}
		return err
	}})
	if err != nil {
		return fmt.Errorf("claim run %s: %w", run, err)
	}
	return nil
}

// Wished returns the runs that are to end in the lines at whose front a server is, with what is to become of them
// and their threads. Those that work for other runs are among them.
func (db *DB) Wished(ctx context.Context, node int64) (wishes []Wish, threads []string, err error) {
	err = db.each(ctx, `SELECT id, wish, thread FROM run WHERE wish <> '' AND status IN ('pending', 'running')
		AND EXISTS (SELECT 1 FROM run f WHERE f.thread = run.thread AND f.front = 1 AND f.node = ?)`, []any{node},
		func(rows *sql.Rows) (bool, error) {
			var w Wish
			var thread string
			err := rows.Scan(&w.Run, &w.Wish, &thread)
			wishes, threads = append(wishes, w), append(threads, thread)
			return true, err
		})
	if err != nil {
		return nil, nil, fmt.Errorf("wishes of server %d: %w", node, err)
	}
	return wishes, threads, nil
}
