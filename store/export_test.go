package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"testing/fstest"
	"time"

	"fawn/store/commit"
	"fawn/store/migrations"
	"fawn/store/sqlite"
)

// Limit lets the database file grow by no more pages than that.
func (db *DB) Limit(ctx context.Context, more int) error {
	return db.w.do(ctx, &job{apply: func(w *writer) error {
		var count int
		pages, err := w.stmt("PRAGMA page_count")
		if err == nil {
			err = pages.QueryRowContext(ctx).Scan(&count)
		}
		if err == nil {
			err = w.exec(fmt.Sprintf("PRAGMA max_page_count = %d", count+more))
		}
		return err
	}})
}

// Exec runs a statement on the writing connection, for damage.
func (db *DB) Exec(ctx context.Context, query string, args ...any) error {
	return db.w.do(ctx, &job{apply: func(w *writer) error {
		return w.exec(query, args...)
	}})
}

// Count runs a query that gives one number, on a reading connection.
func (db *DB) Count(ctx context.Context, query string, args ...any) (n int64, err error) {
	err = db.engine.Reads().QueryRowContext(ctx, db.engine.Bind(query), args...).Scan(&n)
	return n, err
}

// Text runs a query that gives one text.
func (db *DB) Text(ctx context.Context, query string) (s string, err error) {
	err = db.engine.Reads().QueryRowContext(ctx, db.engine.Bind(query)).Scan(&s)
	return s, err
}

// Hold lets the writer wait for release before its next job; entered is closed
// when it waits.
func (db *DB) Hold(ctx context.Context) (entered <-chan struct{}, release func()) {
	in, out := make(chan struct{}), make(chan struct{})
	go db.w.do(ctx, &job{apply: func(*writer) error { close(in); <-out; return nil }})
	return in, func() { close(out) }
}

// Remembered is how many threads the writer keeps tail positions of.
func (db *DB) Remembered() int { return db.w.Remembered() }

// ReadsFor lets reads be tried again for so long.
func ReadsFor(cfg Config, d time.Duration) Config {
	cfg.readTime = d
	return cfg
}

// Migrate runs the migrations of files on the database in dir.
func Migrate(ctx context.Context, dir string, files fs.FS) error {
	pool, err := sqlite.OpenPool(dir, "journal_mode(WAL)")
	if err != nil {
		return err
	}
	defer pool.Close()
	conn, err := pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return sqlite.Migrate(ctx, conn, files, dir, time.Now())
}

// MadeBy makes the database of a program whose newest migration was number version, with rows
// written by script.
func MadeBy(ctx context.Context, dir string, version int, script string) error {
	files := fstest.MapFS{}
	names, err := fs.Glob(migrations.SQLite, "sqlite/*.sql")
	if err != nil {
		return err
	}
	for _, name := range names[:version] {
		data, err := fs.ReadFile(migrations.SQLite, name)
		if err != nil {
			return err
		}
		files[name] = &fstest.MapFile{Data: data}
	}
	if err := Migrate(ctx, dir, files); err != nil {
		return err
	}
	pool, err := sqlite.OpenPool(dir, "journal_mode(WAL)")
	if err != nil {
		return err
	}
	_, err = pool.ExecContext(ctx, script)
	return errors.Join(err, pool.Close())
}

// BoundAudit replaces the bounds of the audit.
func (db *DB) BoundAudit(ctx context.Context, rows, bytes int64) error {
	return db.w.do(ctx, &job{apply: func(w *writer) error { w.auditRows, w.auditBytes = rows, bytes; return nil }})
}

// For the fuzz tests.
var (
	AppendFrame = commit.AppendFrame
	NextFrame   = commit.NextFrame
	DecodeJSON  = decodeJSON
	Contains    = contains
)

// RemoveSomePassages is one commit of RemovePassages.
func (db *DB) RemoveSomePassages(ctx context.Context, thread, file string) (more bool, err error) {
	err = db.w.do(ctx, &job{apply: func(w *writer) (err error) {
		more, err = w.removePassages(thread, file)
		return err
	}})
	return more, err
}

// MaxRecent bounds the rows kept in memory.
const MaxRecent = maxRecent

// ForgetRows drops the rows kept in memory.
func (db *DB) ForgetRows() {
	db.rows.mu.Lock()
	defer db.rows.mu.Unlock()
	db.rows.threads, db.rows.bytes = nil, 0
}

// KeptRows is what the rows kept in memory count for, by themselves.
func (db *DB) KeptRows() (bytes, threads int) {
	db.rows.mu.Lock()
	defer db.rows.mu.Unlock()
	for _, r := range db.rows.threads {
		for _, m := range r.rows {
			bytes += len(m.Body)
		}
	}
	return bytes, len(db.rows.threads)
}

// GiveAway lets another server have a run.
func (db *DB) GiveAway(ctx context.Context, run string, node int64) error {
	return db.w.do(ctx, &job{apply: func(w *writer) error {
		return w.exec(`UPDATE run SET node = ? WHERE id = ?`, node, run)
	}})
}

// SweepNotes lets the next note that is left delete old ones.
func (db *DB) SweepNotes() { db.notesSwept.Store(0) }

// FrameRows is how many rows of the tail have frames of threads.
func (db *DB) FrameRows(ctx context.Context) (n int, err error) {
	err = db.each(ctx, `SELECT data FROM tail`, nil, func(rows *sql.Rows) (bool, error) {
		var data []byte
		err := rows.Scan(&data)
		if len(commit.KeepFrames(data, func(thread []byte, _ int64) bool { return len(thread) > 0 })) > 0 {
			n++
		}
		return true, err
	})
	return n, err
}
