package sqlite

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

	"fawn/store/commit"
	"fawn/store/migrations"
)

// PageSize is the number of bytes of a page. Rows have mostly 1 to 8 KB.
const PageSize = 8192

// Engine keeps everything in one file: one connection writes, some read.
type Engine struct {
	dir     string
	log     *slog.Logger
	pool    *sql.DB // pool with conn only
	conn    *sql.Conn
	readers *sql.DB
	stmts   map[string]*sql.Stmt // prepared on conn, by text
	done    atomic.Uint64        // number of executed statements
}

// Open opens the file of a locked folder, or creates it.
func Open(ctx context.Context, dir string, cfg Options) (_ *Engine, err error) {
	sync, err := SyncMode(cfg.Sync)
	if err != nil {
		return nil, err
	}
	if err := makeFile(ctx, dir); err != nil {
		return nil, err
	}
	// Frequently changed pages are moved out of the log a quarter as often as by default, which was 8 % of the cost of
	// short runs; the log takes 16 to 32 MB for it.
	pool, err := OpenPool(dir, "_txlock=immediate", "journal_mode(WAL)", "synchronous("+sync+")", "cache_size(-4000)",
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
		return nil, damaged(dir, translate(err))
	}
	if err := Migrate(ctx, conn, migrations.SQLite, dir, time.Now()); err != nil {
		return nil, damaged(dir, err)
	}
	readers, err := openReaders(dir, cfg)
	if err != nil {
		return nil, err
	}
	e := &Engine{dir: dir, log: cfg.Log, pool: pool, conn: conn, readers: readers, stmts: map[string]*sql.Stmt{}}
	if err := e.restoreReserve(); err != nil {
		cfg.Log.Warn("no space for the store's reserve file", "dir", dir, "bytes", reserveSize, "err", err)
	}
	return e, nil
}

// Reads implements [commit.Engine].
func (e *Engine) Reads() *sql.DB { return e.readers }

// Bind implements [commit.Engine].
func (e *Engine) Bind(query string) string { return words.Replace(query) }

// Works implements [commit.Engine].
func (e *Engine) Works() uint64 { return e.done.Load() }

// Write tries g without savepoints first: they cost a tenth of it, and hardly any job fails.
func (e *Engine) Write(g *commit.Group, rest func(*commit.Job) error) error {
	if g.Repeatable() {
		open := g.OpenFrames()
		err := e.writeBy(g, open, func(j *commit.Job) error { return e.carryOut(j, rest) })
		if err == nil {
			g.Frames = open
		}
		if err == nil || breaks(err) {
			return err
		}
	}
	return e.writeBy(g, g.Frames, func(j *commit.Job) error { return e.step(j, rest) })
}

func (e *Engine) writeBy(g *commit.Group, frames []byte, do func(*commit.Job) error) error {
	return e.inTx(func() error {
		if len(frames) > 0 {
			if err := e.Run([]commit.Stmt{{What: "write", Of: "tail", SQL: `INSERT INTO tail(id, data) VALUES (?, ?)`,
				Args: []any{g.Row, frames}}}); err != nil {
				return err
			}
		}
		for _, j := range g.Jobs {
			if err := do(j); err != nil {
				return err
			}
		}
		return e.Run(g.After)
	})
}

func (e *Engine) carryOut(j *commit.Job, rest func(*commit.Job) error) error {
	if j.Empty() {
		return nil
	}
	if err := e.Run(j.Stmts()); err != nil {
		return err
	}
	return rest(j)
}

// inTx runs f in a transaction.
func (e *Engine) inTx(f func() error) error {
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
func (e *Engine) step(j *commit.Job, rest func(*commit.Job) error) error {
	if j.Empty() {
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
		j.Err = translate(err)
		if err := e.exec("ROLLBACK TO job"); err != nil {
			return err
		}
	}
	return e.exec("RELEASE job")
}

// Run implements [commit.Engine].
func (e *Engine) Run(list []commit.Stmt) error {
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n].Wipe == list[0].Wipe {
			n++
		}
		part := list[:n]
		err := func() error {
			if part[0].Wipe {
				return e.Overwriting(func() error { return e.runPart(part) })
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

func (e *Engine) runPart(list []commit.Stmt) error {
	for i := range list {
		s := &list[i]
		n, err := e.runOne(s)
		if err == nil {
			err = s.Told(n)
		}
		if err != nil {
			return fmt.Errorf("%s %s: %w", s.What, s.Of, err)
		}
	}
	return nil
}

func (e *Engine) runOne(s *commit.Stmt) (rows int64, err error) {
	if !strings.HasPrefix(s.SQL, "SELECT") {
		return e.Change(s.SQL, s.Args)
	}
	q, err := e.Stmt(s.SQL)
	if err != nil {
		return 0, err
	}
	switch err := q.QueryRowContext(context.Background(), s.Args...).Scan(&rows); {
	case errors.Is(err, sql.ErrNoRows):
		return 0, nil
	case err != nil:
		return 0, err
	}
	e.done.Add(1)
	return 1, nil
}

// Now implements [commit.Engine].
func (e *Engine) Now() time.Time { return time.Now() }

// Cause implements [commit.Engine].
func (e *Engine) Cause(err error) error { return Cause(err) }

// Self returns 1, as a file has one server at a time.
func (e *Engine) Self() int64 { return 1 }

func (e *Engine) exec(query string) error {
	_, err := e.Change(query, nil)
	return err
}

// Change implements [commit.Engine].
func (e *Engine) Change(query string, args []any) (int64, error) {
	s, err := e.Stmt(query)
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

// Stmt implements [commit.Engine].
func (e *Engine) Stmt(query string) (*sql.Stmt, error) {
	if s := e.stmts[query]; s != nil {
		return s, nil
	}
	s, err := e.conn.PrepareContext(context.Background(), e.Bind(query))
	if err != nil {
		return nil, err
	}
	e.stmts[query] = s
	return s, nil
}

// Overwriting implements [commit.Engine].
func (e *Engine) Overwriting(do func() error) (err error) {
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

// Tail implements [commit.Engine].
func (e *Engine) Tail(ctx context.Context) (span commit.Span, last int64, err error) {
	err = e.conn.QueryRowContext(ctx, `SELECT coalesce(max(id), 0) FROM tail`).Scan(&last)
	return commit.Span{First: 1, End: math.MaxInt64}, last, translate(err)
}

// EveryGroup implements [commit.Engine].
func (e *Engine) EveryGroup() bool { return false }

// Keeps implements [commit.Engine].
func (e *Engine) Keeps() time.Duration { return 0 }

// Probe fills the reserve last: as long as writes fail, its room belongs to how things ended.
func (e *Engine) Probe(row int64) error {
	err := e.inTx(func() error {
		return e.Run([]commit.Stmt{
			{What: "probe", Of: "tail", SQL: `INSERT INTO tail(id, data) VALUES (?, zeroblob(65536))`, Args: []any{row}},
			{What: "probe", Of: "tail", SQL: `DELETE FROM tail WHERE id = ?`, Args: []any{row}},
		})
	})
	if err != nil {
		return err
	}
	return e.restoreReserve()
}

// Close moves the log into the database file.
func (e *Engine) Close() error {
	errs := []error{e.readers.Close()}
	_, err := e.conn.ExecContext(context.Background(), "PRAGMA wal_checkpoint(TRUNCATE)")
	for _, s := range e.stmts {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, translate(err), e.conn.Close(), e.pool.Close())...)
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

// Cause returns what an error of SQLite means to callers, nil for nothing that they know.
func Cause(err error) error {
	switch code(err) {
	case codeFull, codeIOErr:
		return commit.ErrFull
	case codeConstraint:
		return commit.ErrConflict
	}
	return nil
}

func translate(err error) error { return commit.Translate(err, Cause) }

// breaks reports whether err concerns the database rather than one batch's content, so that the whole
// transaction is lost.
func breaks(err error) bool {
	switch code(err) {
	case codeBusy, codeNoMem, codeReadOnly, codeIOErr, codeCorrupt, codeFull, codeCantOpen, codeNotADB:
		return true
	}
	return false
}
