package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"fawn/store/commit"
	"fawn/store/sqlite"
)

// Healthy returns nil, or the last write error until writing works again. If the disk was the cause,
// the error wraps ErrFull.
func (db *DB) Healthy() error { return db.w.Healthy() }

// Queued counts the batches and deltas that wait for a commit.
func (db *DB) Queued() int { return db.w.Queued() }

// Patiently returns a context for commits that must complete: the wait ends when the commit is written or failed, or
// when this process loses the right to write, but not by a timeout or the end of ctx. An interrupted wait can't tell
// whether the commit will still be written.
func Patiently(ctx context.Context) context.Context { return commit.Patiently(ctx) }

// OnWait calls tell with true when a commit has taken two seconds, at once if that is so already, and with false when
// commits are fast again. Calls are sequential and from a separate goroutine, so they may block. stop ends the calls
// after a current one.
func (db *DB) OnWait(tell func(waiting bool)) (stop func()) { return db.w.OnWait(tell) }

// Slow returns how long the current commit has been awaited, 0 below two seconds, and the number of commits that ever
// took longer.
func (db *DB) Slow() (now time.Duration, times uint64) { return db.w.Stalled() }

// Work counts the operations of a database since it was opened. Unlike times, these numbers don't depend on the machine,
// so they can be compared with budgets.
type Work struct {
	Queries    uint64 // reading statements outside of transactions that write
	Statements uint64 // statements of the writer, including BEGIN and COMMIT
	Commits    uint64 // transactions; with Sync "full" each syncs the disk
}

// Work returns the current counts.
func (db *DB) Work() Work {
	return Work{Queries: db.queries.Load(), Statements: db.engine.Works(), Commits: db.w.CommitCount()}
}

// Shape describes a database's structure and size, without any content.
type Shape struct {
	Schema int              `json:"schema"` // number of the last migration
	Bytes  int64            `json:"bytes"`
	Rows   map[string]int64 `json:"rows"` // by table
}

// Shape counts the rows of every table.
func (db *DB) Shape(ctx context.Context) (Shape, error) {
	s := Shape{Rows: map[string]int64{}}
	var err error
	if s.Bytes, err = db.Size(ctx); err != nil {
		return s, err
	}
	var tables []string
	if s.Schema, tables, err = db.engine.Shape(ctx); err != nil {
		return s, fmt.Errorf("read the schema: %w", translate(err))
	}
	for _, name := range tables {
		if err != nil {
			break
		}
		var n int64
		err = translate(db.engine.Reads().QueryRowContext(ctx, `SELECT count(*) FROM "`+name+`"`).Scan(&n))
		s.Rows[name] = n
	}
	if err != nil {
		return s, fmt.Errorf("count rows: %w", err)
	}
	return s, nil
}

// Footprint is the stored size of a thread's checkpoints and of their rows, in bytes.
type Footprint struct {
	Checkpoints Rows
	Messages    Rows
	Fields      map[string]Rows // all versions, by name
	Blobs       Rows            // large values of messages, fields and runs
}

// Rows is a number of rows with their size.
type Rows struct{ Count, Bytes int64 }

// Footprint measures a thread's state. A missing thread uses nothing.
func (db *DB) Footprint(ctx context.Context, thread string) (Footprint, error) {
	f := Footprint{Fields: map[string]Rows{}}
	err := db.each(ctx, `SELECT 0, '', count(*), coalesce(sum(octet_length(id) + octet_length(parent) +
				octet_length(next) + octet_length(meta) + octet_length(card)), 0)
			FROM checkpoint WHERE thread = ?1
		UNION ALL SELECT 1, '', count(*), coalesce(sum(octet_length(body)), 0) FROM message WHERE thread = ?1
		UNION ALL SELECT 3, '', count(*), coalesce(sum(octet_length(data)), 0) FROM blob WHERE thread = ?1
		UNION ALL SELECT 2, name, count(*), sum(octet_length(body)) FROM field WHERE thread = ?1 GROUP BY name`,
		[]any{thread}, func(rows *sql.Rows) (bool, error) {
			var what int
			var name string
			var r Rows
			if err := rows.Scan(&what, &name, &r.Count, &r.Bytes); err != nil {
				return false, err
			}
			switch what {
			case 0:
				f.Checkpoints = r
			case 1:
				f.Messages = r
			case 3:
				f.Blobs = r
			default:
				f.Fields[name] = r
			}
			return true, nil
		})
	if err != nil {
		return Footprint{}, fmt.Errorf("measure thread %s: %w", thread, err)
	}
	return f, nil
}

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
