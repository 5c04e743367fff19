package store

import (
	"context"
	"fmt"
)

// Self is this server's number in the database.
func (db *DB) Self() int64 { return db.w.node }

// Shared says that other servers can reach the database, too.
func (db *DB) Shared() bool {
	_, file := db.engine.(*sqliteEngine)
	return !file
}

// Crowded reports whether this server has no room for more runs. As long as it is so, those that its batches bring to
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
