package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"

	"fawn/store/migrations"
)

// sqlitePage is the number of bytes of a page. Rows have mostly 1 to 8 KB.
const sqlitePage = 8192

// sqliteEngine keeps everything in one file: one connection writes, some read.
type sqliteEngine struct {
	dir     string
	log     *slog.Logger
	pool    *sql.DB // pool with conn only
	conn    *sql.Conn
	readers *sql.DB
	stmts   map[string]*sql.Stmt // prepared on conn, by text
	done    atomic.Uint64        // number of executed statements
}

// openSQLite opens the file of a locked folder, or creates it.
func openSQLite(ctx context.Context, dir string, cfg sqliteOptions) (_ *sqliteEngine, err error) {
	sync, err := syncMode(cfg.Sync)
	if err != nil {
		return nil, err
	}
	if err := makeFile(ctx, dir); err != nil {
		return nil, err
	}
	// Frequently changed pages are moved out of the log a quarter as often as by default, which was 8 % of the cost of
	// short runs; the log takes 16 to 32 MB for it.
	pool, err := openPool(dir, "_txlock=immediate", "journal_mode(WAL)", "synchronous("+sync+")", "cache_size(-4000)",
		"temp_store(memory)", "secure_delete(FAST)", "wal_autocheckpoint(4000)", "journal_size_limit(67108864)")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			pool.Close()
		}
	}()
	pool.SetMaxOpenConns(1)
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, damaged(dir, translateSQLite(err))
	}
	if err := migrate(ctx, conn, migrations.SQLite, dir, time.Now()); err != nil {
		return nil, damaged(dir, err)
	}
	readers, err := openReaders(dir, cfg)
	if err != nil {
		return nil, err
	}
	e := &sqliteEngine{dir: dir, log: cfg.Log, pool: pool, conn: conn, readers: readers, stmts: map[string]*sql.Stmt{}}
	if err := e.restoreReserve(); err != nil {
		cfg.Log.Warn("no space for the store's reserve file", "dir", dir, "bytes", reserveSize, "err", err)
	}
	return e, nil
}

func (e *sqliteEngine) reads() *sql.DB           { return e.readers }
func (e *sqliteEngine) bind(query string) string { return sqliteWords.Replace(query) }
func (e *sqliteEngine) works() uint64            { return e.done.Load() }

// write tries g without savepoints first: they cost a tenth of it, and hardly any job fails.
func (e *sqliteEngine) write(g *Group, rest func(*Job) error) error {
	if g.repeatable() {
		open := g.openFrames()
		err := e.writeBy(g, open, func(j *Job) error { return e.carryOut(j, rest) })
		if err == nil {
			g.frames = open
		}
		if err == nil || breaks(err) {
			return err
		}
	}
	return e.writeBy(g, g.frames, func(j *Job) error { return e.step(j, rest) })
}

func (e *sqliteEngine) writeBy(g *Group, frames []byte, do func(*Job) error) error {
	return e.inTx(func() error {
		if len(frames) > 0 {
			if err := e.run([]stmt{{what: "write", of: "tail", sql: `INSERT INTO tail(id, data) VALUES (?, ?)`,
				args: []any{g.row, frames}}}); err != nil {
				return err
			}
		}
		for _, j := range g.jobs {
			if err := do(j); err != nil {
				return err
			}
		}
		return e.run(g.after)
	})
}

func (e *sqliteEngine) carryOut(j *Job, rest func(*Job) error) error {
	if j.empty() {
		return nil
	}
	if err := e.run(j.stmts()); err != nil {
		return err
	}
	return rest(j)
}

// inTx runs f in a transaction.
func (e *sqliteEngine) inTx(f func() error) error {
	if err := e.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := f()
	if err == nil {
		err = e.exec("COMMIT")
	}
	if err != nil { // SQLite may have ended it by itself, so the error is ignored
		e.conn.ExecContext(context.Background(), "ROLLBACK")
	}
	return err
}

// step runs one job. Its error is one that breaks the transaction.
func (e *sqliteEngine) step(j *Job, rest func(*Job) error) error {
	if j.empty() {
		return nil
	}
	if err := e.exec("SAVEPOINT job"); err != nil {
		return err
	}
	err := e.carryOut(j, rest)
	if breaks(err) {
		return err
	}
	if err != nil {
		j.err = translateSQLite(err)
		if err := e.exec("ROLLBACK TO job"); err != nil {
			return err
		}
	}
	return e.exec("RELEASE job")
}

func (e *sqliteEngine) run(list []stmt) error {
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n].wipe == list[0].wipe {
			n++
		}
		part := list[:n]
		err := func() error {
			if part[0].wipe {
				return e.overwriting(func() error { return e.runPart(part) })
			}
			return e.runPart(part)
		}()
		if err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}

func (e *sqliteEngine) runPart(list []stmt) error {
	for i := range list {
		s := &list[i]
		n, err := e.runOne(s)
		if err == nil {
			err = s.told(n)
		}
		if err != nil {
			return fmt.Errorf("%s %s: %w", s.what, s.of, err)
		}
	}
	return nil
}

func (e *sqliteEngine) runOne(s *stmt) (rows int64, err error) {
	if !strings.HasPrefix(s.sql, "SELECT") {
		return e.change(s.sql, s.args)
	}
	q, err := e.stmt(s.sql)
	if err != nil {
		return 0, err
	}
	switch err := q.QueryRowContext(context.Background(), s.args...).Scan(&rows); {
	case errors.Is(err, sql.ErrNoRows):
		return 0, nil
	case err != nil:
		return 0, err
	}
	e.done.Add(1)
	return 1, nil
}

func (e *sqliteEngine) now() time.Time        { return time.Now() }
func (e *sqliteEngine) cause(err error) error { return sqliteCause(err) }

// self returns 1, as a file has one server at a time.
func (e *sqliteEngine) self() int64 { return 1 }

func (e *sqliteEngine) exec(query string) error {
	_, err := e.change(query, nil)
	return err
}

func (e *sqliteEngine) change(query string, args []any) (int64, error) {
	s, err := e.stmt(query)
	if err != nil {
		return 0, err
	}
	r, err := s.ExecContext(context.Background(), args...)
	if err != nil {
		return 0, err
	}
	e.done.Add(1)
	return r.RowsAffected()
}

func (e *sqliteEngine) stmt(query string) (*sql.Stmt, error) {
	if s := e.stmts[query]; s != nil {
		return s, nil
	}
	s, err := e.conn.PrepareContext(context.Background(), e.bind(query))
	if err != nil {
		return nil, err
	}
	e.stmts[query] = s
	return s, nil
}

func (e *sqliteEngine) overwriting(do func() error) (err error) {
	if err := e.exec("PRAGMA secure_delete = ON"); err != nil {
		return err
	}
	defer func() {
		if back := e.exec("PRAGMA secure_delete = FAST"); err == nil {
			err = back
		}
	}()
	return do()
}

func (e *sqliteEngine) tail(ctx context.Context) (span tailSpan, last int64, err error) {
	err = e.conn.QueryRowContext(ctx, `SELECT coalesce(max(id), 0) FROM tail`).Scan(&last)
	return tailSpan{1, math.MaxInt64}, last, translateSQLite(err)
}

func (e *sqliteEngine) everyGroup() bool     { return false }
func (e *sqliteEngine) keeps() time.Duration { return 0 }

// probe fills the reserve last: as long as writes fail, its room belongs to how things ended.
func (e *sqliteEngine) probe(row int64) error {
	err := e.inTx(func() error {
		return e.run([]stmt{
			{what: "probe", of: "tail", sql: `INSERT INTO tail(id, data) VALUES (?, zeroblob(65536))`, args: []any{row}},
			{what: "probe", of: "tail", sql: `DELETE FROM tail WHERE id = ?`, args: []any{row}},
		})
	})
	if err != nil {
		return err
	}
	return e.restoreReserve()
}

// close moves the log into the database file.
func (e *sqliteEngine) close() error {
	errs := []error{e.readers.Close()}
	_, err := e.conn.ExecContext(context.Background(), "PRAGMA wal_checkpoint(TRUNCATE)")
	for _, s := range e.stmts {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, translateSQLite(err), e.conn.Close(), e.pool.Close())...)
}

// SQLite's primary result codes used in this package; extended codes contain them in the low byte.
const (
	codeBusy       = 5
	codeNoMem      = 7
	codeReadOnly   = 8
	codeIOErr      = 10
	codeCorrupt    = 11
	codeFull       = 13
	codeCantOpen   = 14
	codeConstraint = 19
	codeNotADB     = 26
)

// code returns SQLite's primary result code of err, 0 when it has none.
func code(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code() & 0xff
	}
	return 0
}

// sqliteCause returns what an error of SQLite means to callers, nil for nothing that they know.
func sqliteCause(err error) error {
	switch code(err) {
	case codeFull, codeIOErr:
		return ErrFull
	case codeConstraint:
		return ErrConflict
	}
	return nil
}

func translateSQLite(err error) error { return Translate(err, sqliteCause) }

// breaks reports whether err concerns the database rather than one batch's content, so that the whole
// transaction is lost.
func breaks(err error) bool {
	switch code(err) {
	case codeBusy, codeNoMem, codeReadOnly, codeIOErr, codeCorrupt, codeFull, codeCantOpen, codeNotADB:
		return true
	}
	return false
}
