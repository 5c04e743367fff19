package store

import (
	"context"
	"fmt"
)

// Self returns this server's number in the database.
func (db *DB) Self() int64 { return db.w.node }

// Shared reports whether other servers can reach the database.
func (db *DB) Shared() bool {
	return db.pg != nil
}

// Crowded sets whether this server has no room for more runs. Meanwhile any server may claim runs that its batches
// bring to the front.
func (db *DB) Crowded(full bool) { db.w.crowded.Store(full) }

// TakeOver assigns all runs at the front of lines to this server. It is for start-up of a database with one server at a
// time, whose previous owner is gone.
func (db *DB) TakeOver(ctx context.Context) error {
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		return w.exec(`UPDATE run SET node = ?1 WHERE front = 1 AND node <> ?1`, w.node)
	}})
	if err != nil {
		return fmt.Errorf("take over runs: %w", err)
	}
	return nil
}
