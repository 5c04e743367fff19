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

// Wished returns the runs of a server that are to end, with what is to become of them and their threads.
func (db *DB) Wished(ctx context.Context, node int64) (wishes []Wish, threads []string, err error) {
	err = db.each(ctx, `SELECT id, wish, thread FROM run WHERE node = ? AND node > 0 AND wish <> ''`, []any{node},
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
