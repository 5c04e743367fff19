package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"fawn/store/commit"
)

const (
	pgPatience  = 10 * time.Second // wait before requests fail because the database is unreachable; runs keep waiting
	pgPause     = 100 * time.Millisecond
	probeBytes  = 64 << 10
	codeIdle    = "25P03" // a transaction in which nothing happened was ended
	codeCrowded = "53300" // there are too many connections
)

// errWritten means that a group was already written.
var errWritten = errors.New("group was written before")

// Engine stores everything in a schema of PostgreSQL: one connection writes, others read. Every write
// begins with the fence, which proves that this process is still a node.
type Engine struct {
	cfg     *pgx.ConnConfig // configuration of connections that read and write
	direct  *pgx.ConnConfig // of connections that must bypass poolers; the same as cfg without one
	schema  string
	known   schema
	log     *slog.Logger
	readers *sql.DB
	Lease   *Lease   // nil while opening
	Cluster *Cluster // nil without other servers
	wires   *wires
	Meter   commit.Meter
	// readTime and sayTime override readPatience and wakeTime; 0 keeps them.
	readTime, sayTime time.Duration
	done              atomic.Uint64 // number of executed statements
	// Unreachable is called when a group waits longer than pgPatience; nil while the engine is opening.
	Unreachable func(error)

	// The fields below belong to the writing goroutine.
	pool  *sql.DB // pool with conn only
	conn  *sql.Conn
	raw   *pgx.Conn // the connection behind conn
	fresh bool      // nothing was written on raw yet
	pid   uint32    // process id of the server's process after the last raw
	stmts map[string]*sql.Stmt
	bound map[string]string // statements in their sent form
}

// Reads implements [commit.Engine].
func (e *Engine) Reads() *sql.DB { return e.readers }

// Bind implements [commit.Engine].
func (e *Engine) Bind(query string) string { return numbered(words.Replace(query)) }

// Works implements [commit.Engine].
func (e *Engine) Works() uint64 { return e.done.Load() }

// Write tries a group again while the database cannot be reached. Whether a group was written during
// which the connection was lost is asked, never guessed.
func (e *Engine) Write(g *commit.Group, rest func(*commit.Job) error) error {
	if g.Row == 0 && len(g.After) == 0 {
		return nil
	}
	began, ran := time.Now(), map[*commit.Job]bool{}
	for tries := 0; ; tries++ {
		err := e.Lease.Ended()
		if err == nil {
			err = e.connect(context.Background())
		}
		if err == nil {
			err = e.Lease.Ended() // not ended if it didn't exist yet
		}
		if err == nil && tries > 0 {
			var there bool
			err = e.raw.QueryRow(context.Background(), `SELECT EXISTS (SELECT 1 FROM `+e.of("tail")+` WHERE id = $1)`,
				g.Row).Scan(&there)
			if err == nil && there {
				e.Lease.stored(g.Row)
				return nil
			}
		}
		if err == nil {
			err = e.checkDatabase(context.Background())
		}
		if err == nil {
			g.Withdraw()
			err = e.writeOnce(g, rest, ran)
		}
		switch {
		case err == nil:
			e.Lease.stored(g.Row)
			return nil
		case e.Lease.Ended() != nil: // possibly the cause
			err = e.Lease.Ended()
		}
		if err = fenced(err); errors.Is(err, ErrFenced) {
			e.Lease.fenced.Add(1)
			e.Lease.giveUp(err)
			return err
		}
		if !e.passing(err) {
			return unreachable(err)
		}
		if time.Since(began) > pgPatience && e.Unreachable != nil {
			e.Unreachable(unreachable(err))
		}
		time.Sleep(pgPause)
	}
}

// fenced translates an error caused by the write fence.
func fenced(err error) error {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.Code == codeFenced {
		return errEvicted
	}
	return err
}

// passing reports whether an error may go away on a retry.
func (e *Engine) passing(err error) bool {
	if errors.Is(err, errWritten) {
		return true
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code == "40001" || pg.Code == "40P01" || pg.Code == codeIdle || strings.HasPrefix(pg.Code, "57P") ||
			strings.HasPrefix(pg.Code, "08")
	}
	return e.raw == nil || e.raw.IsClosed()
}

// fence begins every writing transaction. Through a pooler it also sets the transaction's settings.
func (e *Engine) fence() commit.Stmt {
	query := `SELECT fence(?)`
	if e.cfg != e.direct {
		query = `SELECT ` + e.settings(writerIdle) + `, ` + e.of("fence(?)")
	}
	return commit.Stmt{What: "fence", Of: "node", SQL: query, Args: []any{e.Lease.id}}
}

// writeOnce writes a group, whose tail row then marks it as written. Most groups are one pipeline in one transaction.
// If that fails, or a job does more than its statements, the jobs run one by one, and each may fail separately.
func (e *Engine) writeOnce(g *commit.Group, rest func(*commit.Job) error, ran map[*commit.Job]bool) error {
	for _, j := range g.Jobs {
		j.Err = nil
	}
	if !slices.ContainsFunc(g.Jobs, func(j *commit.Job) bool {
		return j.Apply != nil || j.Plan != nil && j.Plan.Removes
	}) {
		list := e.opening(g, commit.AppendMarks(g.Frames, g.Jobs))
		for _, j := range g.Jobs {
			list = append(list, j.Stmts()...)
		}
		err := e.pipeline(append(list, g.After...), e.mustBind)
		if err == nil {
			for _, j := range g.Jobs {
				if j.Plan != nil {
					err = errors.Join(err, rest(j)) // errors of notes don't matter
				}
			}
		}
		if err == nil || e.breaks(err) {
			return err
		}
	}
	err := e.begin(e.opening(g, g.Frames))
	for _, j := range g.Jobs {
		if err == nil {
			err = e.step(j, rest, ran)
		}
	}
	if marks := commit.AppendMarks(nil, g.Jobs); err == nil && len(marks) > 0 {
		err = e.Run([]commit.Stmt{{What: "mark", Of: "tail", SQL: `UPDATE tail SET data = data || ? WHERE id = ?`,
			Args: []any{marks, g.Row}}})
	}
	if err == nil {
		err = e.Run(g.After)
	}
	if err == nil {
		err = e.exec("COMMIT")
	}
	if err != nil && !e.raw.IsClosed() {
		err = errors.Join(err, e.exec("ROLLBACK"))
	}
	return err
}

func (e *Engine) begin(first []commit.Stmt) error {
	if err := e.exec("BEGIN ISOLATION LEVEL READ COMMITTED"); err != nil {
		return err
	}
	return e.Run(first)
}

// step runs one job. It returns errors that abort the transaction. A job with a callback for its results isn't run
// twice, because its caller may have seen some of them.
func (e *Engine) step(j *commit.Job, rest func(*commit.Job) error, ran map[*commit.Job]bool) error {
	if j.Empty() {
		return nil
	}
	if j.Apply != nil && ran[j] {
		j.Err = fmt.Errorf("%w: the connection was lost during a write", commit.ErrAway)
		return nil
	}
	if err := e.exec("SAVEPOINT job"); err != nil {
		return err
	}
	ran[j] = true
	err := e.Run(j.Stmts())
	if err == nil {
		err = rest(j)
	}
	if err != nil && (e.raw.IsClosed() || e.breaks(err)) {
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

// breaks reports whether err concerns the database rather than one batch's content.
func (e *Engine) breaks(err error) bool {
	if e.raw.IsClosed() {
		return true
	}
	pg, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return false
	}
	switch pg.Code[:2] {
	case "08", "25", "40", "53", "57", "58", "F0", "XX":
		return true
	}
	return pg.Code == codeFenced
}

// Run carries out statements in one go, inside a transaction.
func (e *Engine) Run(list []commit.Stmt) error { return e.pipeline(list, e.plainBind) }

// pipeline sends statements and then reads how they went. Outside of a transaction it is one.
func (e *Engine) pipeline(list []commit.Stmt, bind func(*commit.Stmt) string) (err error) {
	if len(list) == 0 {
		return nil
	}
	var all pgx.Batch
	for i := range list {
		if list[i].Found != nil { // results of an earlier attempt may be outdated
			*list[i].Found = false
		}
		all.Queue(bind(&list[i]), list[i].Args...)
	}
	results := e.raw.SendBatch(context.Background(), &all)
	defer func() {
		if closed := results.Close(); err == nil {
			err = closed
		}
	}()
	for i := range list {
		s := &list[i]
		tag, err := results.Exec()
		if err == nil {
			err = s.Told(tag.RowsAffected())
		}
		if err != nil {
			return fmt.Errorf("%s %s: %w", s.What, s.Of, err)
		}
		e.done.Add(1)
	}
	return nil
}

func (e *Engine) plainBind(s *commit.Stmt) string { return e.once(s.SQL, "", "") }

// mustBind makes the database end the transaction if a statement that must have an effect has none.
func (e *Engine) mustBind(s *commit.Stmt) string {
	switch {
	case s.Must == nil:
		return e.once(s.SQL, "", "")
	case strings.HasPrefix(s.SQL, "SELECT"):
		return e.once(s.SQL, "SELECT must((SELECT count(*) FROM (", ") found))")
	}
	return e.once(s.SQL, "WITH done AS (", " RETURNING 1) SELECT must((SELECT count(*) FROM done))")
}

// once binds a statement, between two others, unless that was done before.
func (e *Engine) once(query, before, after string) string {
	key := query
	if before != "" {
		key = before + query
	}
	bound, ok := e.bound[key]
	if !ok {
		bound = before + e.Bind(query) + after
		e.bound[key] = bound
	}
	return bound
}

func (e *Engine) exec(query string) error {
	_, err := e.Change(query, nil)
	return err
}

// Change implements [commit.Engine].
func (e *Engine) Change(query string, args []any) (int64, error) {
	tag, err := e.raw.Exec(context.Background(), e.once(query, "", ""), args...)
	if err != nil {
		return 0, err
	}
	e.done.Add(1)
	return tag.RowsAffected(), nil
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

// Overwriting does nothing: vacuuming erases deleted rows.
func (e *Engine) Overwriting(do func() error) error { return do() }

// Now implements [commit.Engine].
func (e *Engine) Now() time.Time { return e.Lease.clock.now() }

// Cause implements [commit.Engine].
func (e *Engine) Cause(err error) error { return Cause(err) }

// Self implements [commit.Engine].
func (e *Engine) Self() int64 { return e.Lease.id }

// Upkeep implements [commit.Engine].
func (e *Engine) Upkeep(bool, func() bool) (forgotten bool, err error) { return true, nil }

// Relieve implements [commit.Engine].
func (e *Engine) Relieve() {}

// Probe writes a row that needs additional space, and removes it.
func (e *Engine) Probe(row int64) error {
	if err := e.Lease.Ended(); err != nil {
		return err
	}
	if err := e.connect(context.Background()); err != nil {
		return err
	}
	err := e.begin([]commit.Stmt{e.fence(), {What: "probe", Of: "tail", SQL: `INSERT INTO tail(id, data) VALUES (?, ?)`,
		Args: []any{row, make([]byte, probeBytes)}}})
	if !e.raw.IsClosed() {
		err = errors.Join(err, e.exec("ROLLBACK"))
	}
	return err
}

// Shape implements [commit.Engine].
func (e *Engine) Shape(ctx context.Context) (schema int, tables []string, err error) {
	if err := e.readers.QueryRowContext(ctx, `SELECT max(number) FROM migration`).Scan(&schema); err != nil {
		return 0, nil, err
	}
	tables, err = commit.Texts(ctx, e.readers, `SELECT tablename::text COLLATE "C" FROM pg_tables
		WHERE schemaname = current_schema() ORDER BY 1`)
	return schema, tables, err
}

// Damage implements [commit.Engine].
func (e *Engine) Damage(context.Context, *sql.Tx) ([]string, error) { return nil, nil }

// Size implements [commit.Engine].
func (e *Engine) Size(ctx context.Context) (n int64, err error) {
	err = e.readers.QueryRowContext(ctx, `SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class
		WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'`).Scan(&n)
	return n, translate(err)
}

// Room returns nothing: tables shrink some time after rows are deleted, and deleting until there is room would delete
// too much.
func (e *Engine) Room(context.Context) (commit.Room, error) { return commit.Room{}, nil }

// GiveBack implements [commit.Engine].
func (e *Engine) GiveBack(int) error { return nil }

// Backup implements [commit.Engine].
func (e *Engine) Backup(context.Context, string) error {
	return ErrNoFile
}

// Close implements [commit.Engine].
func (e *Engine) Close() error {
	if e.Cluster != nil {
		e.Cluster.leave()
	}
	e.Lease.leave()
	e.drop()
	return errors.Join(e.readers.Close(), e.pool.Close())
}

// tailStays is how long other servers may read tail rows that are otherwise no longer needed.
const tailStays = 30 * time.Second

// tailRow is the row of a group: a group sent earlier that arrives late finds it, or a later one, there. Its row stays
// until there is a later one.
const tailRow = `INSERT INTO tail(id, data) SELECT CAST(?1 AS bigint), CAST(?2 AS bytea)
	WHERE NOT EXISTS (SELECT 1 FROM tail WHERE id >= ?1 AND id < ?3) ON CONFLICT DO NOTHING`

// opening begins a group: the fence, then its tail row, if it has one, and its threads' rows if other servers may want
// them too.
func (e *Engine) opening(g *commit.Group, data []byte) []commit.Stmt {
	if data == nil { // never NULL
		data = []byte{}
	}
	list := append([]commit.Stmt{e.fence()}, e.whole()...)
	if g.Row > 0 {
		list = append(list, commit.Stmt{What: "write", Of: "tail", SQL: tailRow,
			Args: []any{g.Row, data, commit.SpanOf(e.Lease.id).End}, Must: errWritten})
	}
	if e.Cluster != nil {
		list = append(list, lockThreads(g)...)
	}
	return list
}

// Tail implements [commit.Engine].
func (e *Engine) Tail(ctx context.Context) (span commit.Span, last int64, err error) {
	span = commit.SpanOf(e.Lease.id)
	err = e.raw.QueryRow(ctx, `SELECT coalesce(max(id), 0) FROM `+e.of("tail")+` WHERE id >= $1 AND id < $2`,
		span.First, span.End).Scan(&last)
	return span, last, translate(err)
}

// EveryGroup implements [commit.Engine].
func (e *Engine) EveryGroup() bool { return true }

// Keeps returns how long rows stay for other servers to read, if there are any.
func (e *Engine) Keeps() time.Duration {
	if e.Lease.Others.Load() == 0 {
		return 0
	}
	return tailStays
}

// lockThreads locks the rows of a group's threads in an order common to all nodes, which prevents deadlocks between two
// groups. A single one needs no order.
func lockThreads(g *commit.Group) []commit.Stmt {
	var ids []string
	for _, j := range g.Jobs {
		if j.Plan != nil && j.Plan.Target != "" {
			ids = append(ids, j.Plan.Target)
		}
	}
	slices.Sort(ids)
	if ids = slices.Compact(ids); len(ids) < 2 {
		return nil
	}
	list, err := json.Marshal(ids)
	if err != nil { // texts always encode
		return nil
	}
	return []commit.Stmt{{What: "lock", Of: "threads", SQL: `SELECT 1 FROM thread WHERE id IN {list} ORDER BY id{lock}`,
		Args: []any{string(list)}}}
}
