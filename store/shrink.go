package store

import (
	"context"
	"fmt"

	"fawn/store/sqlite"
)

const (
	keepPages = 64  // free pages kept for the next rows
	freeSlice = 256 // pages freed per commit, so that runs don't wait longer
)

// Room returns the used part of the database file, without the write-ahead log.
func (db *DB) Room(ctx context.Context) (Room, error) {
	r, err := db.engine.Room(ctx)
	if err != nil {
		return Room{}, fmt.Errorf("measure free space of store: %w", err)
	}
	return r, nil
}

// Shrink returns free pages to the file system, in small commits between others, and returns the number of bytes. A
// file created before this was supported is unchanged.
func (db *DB) Shrink(ctx context.Context) (int64, error) {
	given := int64(0)
	for {
		before, err := db.Room(ctx)
		if err != nil || before.Free <= keepPages*sqlite.PageSize {
			return given, err
		}
		err = db.w.do(ctx, &job{apply: func(w *writer) error { return w.engine.GiveBack(freeSlice) }})
		if err != nil {
			return given, fmt.Errorf("shrink store: %w", err)
		}
		after, err := db.Room(ctx)
		if err != nil || after.Free >= before.Free {
			return given, err
		}
		given += before.Free - after.Free
	}
}
