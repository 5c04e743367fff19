package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
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

// postgresEngine stores everything in a schema of PostgreSQL: one connection writes, others read. Every write
// begins with the fence, which proves that this process is still a node.
type postgresEngine struct {
	cfg     *pgx.ConnConfig // configuration of connections that read and write
	direct  *pgx.ConnConfig // of connections that must bypass poolers; the same as cfg without one
	schema  string
	known   schema
	log     *slog.Logger
	readers *sql.DB
	node    *pgNode    // nil while opening
	cluster *pgCluster // nil without other servers
	wires   *wires
	meter   Meter
	// readTime and sayTime override readPatience and wakeTime; 0 keeps them.
	readTime, sayTime time.Duration
	done              atomic.Uint64 // number of executed statements
	// unreachable is called when a group waits longer than pgPatience; nil while the engine is opening.
	unreachable func(error)

	// The fields below belong to the writing goroutine.
	pool  *sql.DB // pool with conn only
	conn  *sql.Conn
	raw   *pgx.Conn // the connection behind conn
	fresh bool      // nothing was written on raw yet
	pid   uint32    // process id of the server's process after the last raw
	stmts map[string]*sql.Stmt
	bound map[string]string // statements in their sent form
}

func (e *postgresEngine) reads() *sql.DB           { return e.readers }
func (e *postgresEngine) bind(query string) string { return numbered(postgresWords.Replace(query)) }
func (e *postgresEngine) works() uint64            { return e.done.Load() }

// write tries a group again while the database cannot be reached. Whether a group was written during
// which the connection was lost is asked, never guessed.
func (e *postgresEngine) write(g *Group, rest func(*Job) error) error {
	if g.row == 0 && len(g.after) == 0 {
		return nil
	}
	began, ran := time.Now(), map[*Job]bool{}
	for tries := 0; ; tries++ {
		err := e.node.ended()
		if err == nil {
			err = e.connect(context.Background())
		}
		if err == nil {
			err = e.node.ended() // not ended if it didn't exist yet
		}
		if err == nil && tries > 0 {
			var there bool
			err = e.raw.QueryRow(context.Background(), `SELECT EXISTS (SELECT 1 FROM `+e.of("tail")+` WHERE id = $1)`,
				g.row).Scan(&there)
			if err == nil && there {
				e.node.stored(g.row)
				return nil
			}
		}
		if err == nil {
			err = e.look(context.Background())
		}
		if err == nil {
			g.withdraw()
			err = e.writeOnce(g, rest, ran)
		}
		switch {
		case err == nil:
			e.node.stored(g.row)
			return nil
		case e.node.ended() != nil: // possibly the cause
			err = e.node.ended()
		}
		if err = fenced(err); errors.Is(err, ErrFenced) {
			e.node.fenced.Add(1)
			e.node.giveUp(err)
			return err
		}
		if !e.passing(err) {
			return away(err)
		}
		if time.Since(began) > pgPatience && e.unreachable != nil {
			e.unreachable(away(err))
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
func (e *postgresEngine) passing(err error) bool {
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
func (e *postgresEngine) fence() stmt {
	query := `SELECT fence(?)`
	if e.cfg != e.direct {
		query = `SELECT ` + e.settings(writerIdle) + `, ` + e.of("fence(?)")
	}
	return stmt{what: "fence", of: "node", sql: query, args: []any{e.node.id}}
}

// writeOnce writes a group, whose tail row then marks it as written. Most groups are one pipeline in one transaction.
// If that fails, or a job does more than its statements, the jobs run one by one, and each may fail separately.
func (e *postgresEngine) writeOnce(g *Group, rest func(*Job) error, ran map[*Job]bool) error {
	for _, j := range g.jobs {
		j.err = nil
	}
	if !slices.ContainsFunc(g.jobs, func(j *Job) bool {
		return j.apply != nil || j.plan != nil && j.plan.removes
	}) {
		list := e.opening(g, appendMarks(g.frames, g.jobs))
		for _, j := range g.jobs {
			list = append(list, j.stmts()...)
		}
		err := e.pipeline(append(list, g.after...), e.mustBind)
		if err == nil {
			for _, j := range g.jobs {
				if j.plan != nil {
					err = errors.Join(err, rest(j)) // errors of notes don't matter
				}
			}
		}
		if err == nil || e.breaks(err) {
			return err
		}
	}
	err := e.begin(e.opening(g, g.frames))
	for _, j := range g.jobs {
		if err == nil {
			err = e.step(j, rest, ran)
		}
	}
	if marks := appendMarks(nil, g.jobs); err == nil && len(marks) > 0 {
		err = e.run([]stmt{{what: "mark", of: "tail", sql: `UPDATE tail SET data = data || ? WHERE id = ?`,
			args: []any{marks, g.row}}})
	}
	if err == nil {
		err = e.run(g.after)
	}
	if err == nil {
		err = e.exec("COMMIT")
	}
	if err != nil && !e.raw.IsClosed() {
		err = errors.Join(err, e.exec("ROLLBACK"))
	}
	return err
}

func (e *postgresEngine) begin(first []stmt) error {
	if err := e.exec("BEGIN ISOLATION LEVEL READ COMMITTED"); err != nil {
		return err
	}
	return e.run(first)
}

// step runs one job. It returns errors that abort the transaction. A job with a callback for its results isn't run
// twice, because its caller may have seen some of them.
func (e *postgresEngine) step(j *Job, rest func(*Job) error, ran map[*Job]bool) error {
	if j.empty() {
		return nil
	}
	if j.apply != nil && ran[j] {
		j.err = fmt.Errorf("%w: the connection was lost while it was written to", ErrAway)
		return nil
	}
	if err := e.exec("SAVEPOINT job"); err != nil {
		return err
	}
	ran[j] = true
	err := e.run(j.stmts())
	if err == nil {
		err = rest(j)
	}
	if err != nil && (e.raw.IsClosed() || e.breaks(err)) {
		return err
	}
	if err != nil {
		j.err = translatePostgres(err)
		if err := e.exec("ROLLBACK TO job"); err != nil {
			return err
		}
	}
	return e.exec("RELEASE job")
}

// breaks reports whether err concerns the database rather than one batch's content.
func (e *postgresEngine) breaks(err error) bool {
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

// run carries out statements in one go, inside a transaction.
func (e *postgresEngine) run(list []stmt) error { return e.pipeline(list, e.plainBind) }

// pipeline sends statements and then reads how they went. Outside of a transaction it is one.
func (e *postgresEngine) pipeline(list []stmt, bind func(*stmt) string) (err error) {
	if len(list) == 0 {
		return nil
	}
	var all pgx.Batch
	for i := range list {
		if list[i].found != nil { // results of an earlier attempt may be outdated
			*list[i].found = false
		}
		all.Queue(bind(&list[i]), list[i].args...)
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
			err = s.told(tag.RowsAffected())
		}
		if err != nil {
			return fmt.Errorf("%s %s: %w", s.what, s.of, err)
		}
		e.done.Add(1)
	}
	return nil
}

func (e *postgresEngine) plainBind(s *stmt) string { return e.once(s.sql, "", "") }

// mustBind makes the database end the transaction if a statement that must have an effect has none.
func (e *postgresEngine) mustBind(s *stmt) string {
	switch {
	case s.must == nil:
		return e.once(s.sql, "", "")
	case strings.HasPrefix(s.sql, "SELECT"):
		return e.once(s.sql, "SELECT must((SELECT count(*) FROM (", ") found))")
	}
	return e.once(s.sql, "WITH done AS (", " RETURNING 1) SELECT must((SELECT count(*) FROM done))")
}

// once binds a statement, between two others, unless that was done before.
func (e *postgresEngine) once(query, before, after string) string {
	key := query
	if before != "" {
		key = before + query
	}
	bound, ok := e.bound[key]
	if !ok {
		bound = before + e.bind(query) + after
		e.bound[key] = bound
	}
	return bound
}

func (e *postgresEngine) exec(query string) error {
	_, err := e.change(query, nil)
	return err
}

func (e *postgresEngine) change(query string, args []any) (int64, error) {
	tag, err := e.raw.Exec(context.Background(), e.once(query, "", ""), args...)
	if err != nil {
		return 0, err
	}
	e.done.Add(1)
	return tag.RowsAffected(), nil
}

func (e *postgresEngine) stmt(query string) (*sql.Stmt, error) {
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

// overwriting does nothing: the database erases deleted rows when it vacuums.
func (e *postgresEngine) overwriting(do func() error) error { return do() }

func (e *postgresEngine) now() time.Time        { return e.node.clock.now() }
func (e *postgresEngine) cause(err error) error { return postgresCause(err) }

func (e *postgresEngine) self() int64 { return e.node.id }

func (e *postgresEngine) upkeep(bool, func() bool) (forgotten bool, err error) { return true, nil }

func (e *postgresEngine) relieve() {}

// probe writes a row that needs additional space, and removes it.
func (e *postgresEngine) probe(row int64) error {
	if err := e.node.ended(); err != nil {
		return err
	}
	if err := e.connect(context.Background()); err != nil {
		return err
	}
	err := e.begin([]stmt{e.fence(), {what: "probe", of: "tail", sql: `INSERT INTO tail(id, data) VALUES (?, ?)`,
		args: []any{row, make([]byte, probeBytes)}}})
	if !e.raw.IsClosed() {
		err = errors.Join(err, e.exec("ROLLBACK"))
	}
	return err
}

func (e *postgresEngine) shape(ctx context.Context) (schema int, tables []string, err error) {
	if err := e.readers.QueryRowContext(ctx, `SELECT max(number) FROM migration`).Scan(&schema); err != nil {
		return 0, nil, err
	}
	tables, err = texts(ctx, e.readers, `SELECT tablename::text COLLATE "C" FROM pg_tables
		WHERE schemaname = current_schema() ORDER BY 1`)
	return schema, tables, err
}

func (e *postgresEngine) damage(context.Context, *sql.Tx) ([]string, error) { return nil, nil }

func (e *postgresEngine) size(ctx context.Context) (n int64, err error) {
	err = e.readers.QueryRowContext(ctx, `SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class
		WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'`).Scan(&n)
	return n, translatePostgres(err)
}

// room returns nothing: tables shrink some time after rows are deleted, and deleting until there is room would delete
// too much.
func (e *postgresEngine) room(context.Context) (Room, error) { return Room{}, nil }

func (e *postgresEngine) giveBack(int) error { return nil }

func (e *postgresEngine) backup(context.Context, string) error {
	return errNoFile
}

func (e *postgresEngine) close() error {
	if e.cluster != nil {
		e.cluster.leave()
	}
	e.node.leave()
	e.drop()
	return errors.Join(e.readers.Close(), e.pool.Close())
}
