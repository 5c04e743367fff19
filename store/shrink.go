package store

import (
	"context"
	"errors"
	"fmt"
)

const (
	pageSize  = 8192 // bytes; rows are mostly 1 to 8 KB
	keepPages = 64   // free pages that stay for the next rows
	freeSlice = 256  // pages given back in one commit, so that runs need not wait for more
)

// prepareFile chooses the form of a new database file, which cannot be changed later: the
// size of its pages, and that it can shrink. The order matters, and a pool would not keep
// it: all of this must come before the first page is written.
func prepareFile(ctx context.Context, dir string) error {
	pool, err := openPool(dir)
	if err != nil {
		return err
	}
	defer pool.Close()
	conn, err := pool.Conn(ctx)
	if err != nil {
		return translate(err)
	}
	defer conn.Close()
	for _, p := range []string{fmt.Sprintf("PRAGMA page_size = %d", pageSize), "PRAGMA auto_vacuum = INCREMENTAL",
		"PRAGMA journal_mode = WAL"} {
		if _, err := conn.ExecContext(ctx, p); err != nil {
			return translate(err)
		}
	}
	return nil
}

// Room says how much of the database file is used, in bytes.
type Room struct {
	Used int64
	Free int64 // pages in the file that hold nothing
}

// Room returns how much of the database file is used. The write-ahead log is not in it.
func (db *DB) Room(ctx context.Context) (Room, error) {
	var size, pages, free int64
	for name, into := range map[string]*int64{"page_size": &size, "page_count": &pages, "freelist_count": &free} {
		if err := db.queryRow(ctx, "PRAGMA "+name, nil, into); err != nil {
			return Room{}, fmt.Errorf("measure free space of store: %w", err)
		}
	}
	return Room{Used: (pages - free) * size, Free: free * size}, nil
}

// Shrink gives free pages back to the file system, in small commits between others, and
// returns how many bytes. A file made before this was possible stays as it is.
func (db *DB) Shrink(ctx context.Context) (int64, error) {
	given := int64(0)
	for {
		before, err := db.Room(ctx)
		if err != nil || before.Free <= keepPages*pageSize {
			return given, err
		}
		err = db.w.do(ctx, &job{apply: func(w *writer) error { return w.giveBack(freeSlice) }})
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

// forgetDeleted gives back all free pages and empties the log. When there is work again it
// goes on in the next pause.
func (w *writer) forgetDeleted() error {
	for {
		var free int
		if err := w.conn.QueryRowContext(context.Background(), "PRAGMA freelist_count").Scan(&free); err != nil {
			return err
		}
		if free == 0 {
			return w.emptyLog()
		}
		if err := w.giveBack(freeSlice); err != nil {
			return err
		}
		var left int
		if err := w.conn.QueryRowContext(context.Background(), "PRAGMA freelist_count").Scan(&left); err != nil {
			return err
		}
		w.mu.Lock()
		busy := len(w.full) > 0 || w.cur.items > 0
		w.mu.Unlock()
		switch {
		case left >= free: // a file that cannot shrink
			return w.emptyLog()
		case busy:
			w.tidy = false
			return nil
		}
	}
}

// giveBack takes free pages off the file, at most n of them.
func (w *writer) giveBack(n int) error {
	rows, err := w.conn.QueryContext(context.Background(), fmt.Sprintf("PRAGMA incremental_vacuum(%d)", n))
	if err != nil {
		return err
	}
	for rows.Next() { // each step gives back one page
	}
	return errors.Join(rows.Err(), rows.Close())
}

// emptyLog moves the write-ahead log into the database file and cuts it off, unless a
// reader still needs it: what was deleted shall not live on there.
func (w *writer) emptyLog() error {
	ctx := context.Background()
	if _, err := w.conn.ExecContext(ctx, "PRAGMA busy_timeout = 0"); err != nil {
		return err
	}
	var busy, pages, moved int
	err := w.conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &pages, &moved)
	if err == nil && busy == 0 {
		w.shrink = false
	}
	_, back := w.conn.ExecContext(ctx, "PRAGMA busy_timeout = 5000")
	if err == nil {
		err = back
	}
	return err
}
