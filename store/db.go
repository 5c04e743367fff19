package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"fawn/store/commit"
	"fawn/store/folder"
	"fawn/store/postgres"
	"fawn/store/sqlite"
)

// noLimit is for a LIMIT that takes all rows.
const noLimit = math.MaxInt

// DefaultOwner owns rows that are written without an owner.
const DefaultOwner = "default"

// Config configures the location of the data and the durability of writes.
type Config struct {
	Dir  string // data folder, created with mode 0700 if missing
	Sync string // "normal" (default; a power cut may lose the last moments) or "full"
	URL  string // PostgreSQL for the rows, postgres://…; "" uses a file in Dir
	// ListenURL is the address of the same PostgreSQL without a pooler, if URL leads to one. It is used for work that
	// needs its own connection: the lease, wake-ups, and changes of tables.
	ListenURL string
	NoMigrate bool         // the tables must be up to date already, see [MigrateTables]
	Schema    string       // PostgreSQL schema, default "fawn", created if missing
	Readers   int          // limit of read connections, default 4, or 8 with URL
	Addr      string       // address of this process, stored in the lock for processes that are refused
	Log       *slog.Logger // nil means slog.Default()
	// The following fields are for PostgreSQL: how long this process may be silent before another takes over
	// (default DefaultLease), a callback, called at once and once, when it may no longer write, and the
	// information other servers get about it.
	Lease             time.Duration
	Cluster           bool // several servers may share the database if all set it
	Lost              func(error)
	Version, Settings string
	Timeout           time.Duration // limit of a statement, default a minute, none if negative
	Wake              string        // WakePoll, or "" to notify other servers of work
	// Committed is called with the duration and result of each commit; nil = none.
	Committed func(took time.Duration, err error)
	Meter     Meter // measures more with PostgreSQL; nil = none
	// MaxPending limits the waiting runs; more are refused with ErrCrowded. 0 means no limit.
	MaxPending int
	NoEvents   bool // for measurements only: deltas and events are dropped and reported as durable at once

	migrations fs.FS // PostgreSQL migrations, nil for the embedded ones

	readTime, sayTime time.Duration // override readPatience and wakeTime; 0 keeps them
}

func (cfg *Config) sqlite() sqlite.Options {
	return sqlite.Options{Sync: cfg.Sync, Readers: cfg.Readers, Log: cfg.Log}
}

// postgres returns the settings for PostgreSQL of a server that has a locked data folder, "" for none.
func (cfg *Config) postgres(folder string) postgres.Config {
	return postgres.Config{URL: cfg.URL, ListenURL: cfg.ListenURL, Schema: cfg.Schema, NoMigrate: cfg.NoMigrate,
		Readers: cfg.Readers, Addr: cfg.Addr, Folder: folder, Log: cfg.Log, Lease: cfg.Lease, Cluster: cfg.Cluster,
		Lost: cfg.Lost, Version: cfg.Version, Settings: cfg.Settings, Timeout: cfg.Timeout, Meter: cfg.Meter,
		Migrations: cfg.migrations, ReadTime: cfg.readTime, SayTime: cfg.sayTime}
}

// DB is an open data folder. Its methods are safe for concurrent use.
type DB struct {
	cfg     Config
	dir     string // absolute
	lock    *folder.Lock
	engine  commit.Engine
	pg      *postgres.Engine // the engine, nil for a file
	w       *writer
	rows    rows
	pending pending
	tails   tailReads
	copied  bool // the folder is a copy with its own locks
	queries atomic.Uint64

	notesSwept atomic.Int64 // when old notes were deleted, in milliseconds

	mu       sync.Mutex           // guards the fields below
	stmts    map[string]*sql.Stmt // prepared reads by text
	counts   map[string]int       // threads of an owner, as of countsAt
	countsAt uint64

	closeOnce sync.Once
	closeErr  error
}

// Close stops accepting work, writes the queue, moves the log into the database file, and releases the lock. Later
// calls return the first's error.
func (db *DB) Close() error {
	db.closeOnce.Do(func() {
		errs := []error{db.w.Close()}
		db.w.wakes.Close()
		err := db.engine.Close()
		if err == nil {
			err = db.lock.MarkClosed(db.dir)
		}
		errs = append(errs, err, db.lock.Release())
		if db.copied {
			errs = append(errs, os.RemoveAll(db.dir))
		}
		if err := errors.Join(errs...); err != nil {
			db.closeErr = fmt.Errorf("close store: %w", err)
		}
	})
	return db.closeErr
}

// Size returns the bytes of the database file and its write-ahead log.
func (db *DB) Size(ctx context.Context) (int64, error) {
	var n int64
	err := db.again(ctx, func() (final bool, err error) {
		n, err = db.engine.Size(ctx)
		return false, err
	})
	if err != nil {
		return 0, fmt.Errorf("measure store: %w", err)
	}
	return n, nil
}

// Backup writes a consistent, compact copy of the database to path, which must not exist. Writers
// continue meanwhile.
func (db *DB) Backup(ctx context.Context, path string) error {
	if err := db.engine.Backup(ctx, path); err != nil {
		return fmt.Errorf("back up store: %w", err)
	}
	return nil
}

// brief returns the context for a query that looks up rows by key. In a file it ends before it could be
// interrupted, and supporting interruption costs as much as the query.
func (db *DB) brief(ctx context.Context) context.Context {
	if db.pg == nil && ctx.Err() == nil {
		return context.Background()
	}
	return ctx
}

// again runs a read, and repeats it where it failed because its connection was lost. A read marked as final has returned
// rows that a repetition would duplicate.
func (db *DB) again(ctx context.Context, read func() (final bool, err error)) error {
	final, err := read()
	if err == nil || db.pg == nil {
		return err
	}
	return db.pg.Again(ctx, final, err, read)
}

// stmt returns the prepared form of a constant query on the read pool, for one use.
func (db *DB) stmt(ctx context.Context, query string) (*sql.Stmt, error) {
	db.queries.Add(1)
	db.mu.Lock()
	s := db.stmts[query]
	db.mu.Unlock()
	if s != nil {
		return s, nil
	}
	s, err := db.engine.Reads().PrepareContext(ctx, db.engine.Bind(query))
	if err != nil {
		return nil, err
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	if old := db.stmts[query]; old != nil {
		s.Close()
		return old, nil
	}
	db.stmts[query] = s
	return s, nil
}

// view is a read transaction with its prepared statements.
type view struct {
	ctx   context.Context
	tx    *sql.Tx
	stmts []*sql.Stmt
}

// view runs f on one snapshot of the database. It prepares all constant queries of f before: preparing
// inside would wait for a second connection while holding one. If the connection is lost, f runs again
// on another snapshot, so it must reset its results.
func (db *DB) view(ctx context.Context, queries []string, f func(v view) error) error {
	return db.again(ctx, func() (bool, error) { return false, db.viewOnce(ctx, queries, f) })
}

func (db *DB) viewOnce(ctx context.Context, queries []string, f func(v view) error) error {
	v := view{ctx: ctx}
	for _, q := range queries {
		s, err := db.stmt(ctx, q)
		if err != nil {
			return translate(err)
		}
		v.stmts = append(v.stmts, s)
	}
	db.queries.Add(2) // BEGIN and COMMIT
	tx, err := db.engine.Reads().BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return translate(err)
	}
	defer tx.Rollback()
	for i, s := range v.stmts {
		v.stmts[i] = tx.StmtContext(ctx, s)
	}
	v.tx = tx
	return f(v)
}

func (db *DB) queryRow(ctx context.Context, query string, args []any, dest ...any) error {
	cleanAll(args)
	return translate(db.again(ctx, func() (bool, error) {
		s, err := db.stmt(ctx, query)
		if err != nil {
			return false, err
		}
		return false, s.QueryRowContext(ctx, args...).Scan(dest...)
	}))
}

// oneRow is the row that a constant query finds, which is asked when it is scanned.
type oneRow struct {
	db    *DB
	ctx   context.Context
	query string
	args  []any
}

func (db *DB) one(ctx context.Context, query string, args ...any) oneRow {
	return oneRow{db, ctx, query, args}
}

// Scan returns ErrNotFound if there is no row.
func (r oneRow) Scan(dest ...any) error { return r.db.queryRow(r.ctx, r.query, r.args, dest...) }

// each runs a constant query and calls scan for every row until scan returns an error.
func (db *DB) each(ctx context.Context, query string, args []any, scan func(*sql.Rows) (more bool, err error)) error {
	given := false
	return db.again(ctx, func() (bool, error) {
		s, err := db.stmt(ctx, query)
		if err != nil {
			return false, translate(err)
		}
		err = eachRow(ctx, s, args, func(rows *sql.Rows) (bool, error) {
			given = true
			return scan(rows)
		})
		return given, err
	})
}

// rowsOf returns the rows of a constant query, read by scan. Without rows the list is empty, not nil.
func rowsOf[T any](ctx context.Context, db *DB, query string, args []any, scan func(scanner) (T, error)) ([]T, error) {
	list := []T{}
	err := db.each(ctx, query, args, func(rows *sql.Rows) (bool, error) {
		one, err := scan(rows)
		list = append(list, one)
		return true, err
	})
	return list, err
}

// scanner is a row of a result.
type scanner interface{ Scan(...any) error }

func eachRow(ctx context.Context, s *sql.Stmt, args []any, scan func(*sql.Rows) (more bool, err error)) error {
	cleanAll(args)
	rows, err := s.QueryContext(ctx, args...)
	if err != nil {
		return translate(err)
	}
	defer rows.Close()
	for rows.Next() {
		more, err := scan(rows)
		if err != nil {
			return translate(err)
		}
		if !more {
			return nil
		}
	}
	return translate(rows.Err())
}

func fromMillis(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// orNow returns t in milliseconds, or now if t is zero.
func orNow(t time.Time, now int64) int64 {
	if t.IsZero() {
		return now
	}
	return t.UnixMilli()
}

// object returns raw as text, {} if it is empty.
func object(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "{}"
	}
	return string(raw)
}

// blob returns b, never NULL.
func blob(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

func orDefault(s, def string) string {
	if s == "" {
		return def
	}
	return s
}

// number returns a truth value as columns have it.
func number(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}
