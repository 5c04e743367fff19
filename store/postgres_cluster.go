package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

const sideTime = 5 * time.Second // time limit of a claim or query

// pgCluster is the cluster part of a node: it polls the changes of other servers, and claims runs concurrently with the
// writer.
type pgCluster struct {
	e     *postgresEngine
	gone  chan struct{} // gets a value when a node was evicted
	pulse chan Pulse    // buffers the last one
	seen  atomic.Pointer[polled]
	stop  context.CancelFunc
	ctx   context.Context // cancelled by stop
	work  sync.WaitGroup

	mu   sync.Mutex
	conn *pgx.Conn // for claims

	queue queue
}

func (e *postgresEngine) joinCluster() {
	ctx, stop := context.WithCancel(context.Background())
	e.cluster = &pgCluster{e: e, gone: make(chan struct{}, 1), pulse: make(chan Pulse, 1), ctx: ctx, stop: stop}
}

// leave stops background work before the node's row is removed.
func (c *pgCluster) leave() {
	c.stop()
	c.work.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if c.conn != nil {
		c.conn.Close(ctx)
	}
}

// reopen opens a connection if necessary.
func reopen(ctx context.Context, conf *pgx.ConnConfig, conn **pgx.Conn) (err error) {
	if *conn != nil && !(*conn).IsClosed() {
		return nil
	}
	if *conn, err = pgx.ConnectConfig(ctx, conf); err != nil {
		*conn = nil
		return fmt.Errorf("connect to the database: %w", err)
	}
	return nil
}

// claim executes a claim and scans its result. When it fails, whether it took effect is not known.
func (c *pgCluster) claim(ctx context.Context, query string, args []any, scan func(pgx.Rows) error) error {
	return c.beside(ctx, c.e.meter.Claim, indexesOnly, query, args, scan)
}

// beside runs a statement in a separate transaction after the fence, with the settings made by another statement. took,
// which may be nil, receives the duration.
func (c *pgCluster) beside(ctx context.Context, took func(time.Duration), settings, query string, args []any,
	scan func(pgx.Rows) error) error {
	ctx, cancel := context.WithTimeout(ctx, sideTime)
	defer cancel()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.e.node.ended(); err != nil {
		return err
	}
	if err := reopen(ctx, c.e.cfg, &c.conn); err != nil {
		return away(err)
	}
	if took != nil {
		began := time.Now()
		defer func() { took(time.Since(began)) }()
	}
	var all pgx.Batch // one transaction
	fence := c.e.fence()
	all.Queue(c.e.bind(fence.sql), fence.args...)
	all.Queue(settings)
	all.Queue(query, args...).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			if err := scan(rows); err != nil {
				return err
			}
		}
		return rows.Err()
	})
	err := fenced(c.conn.SendBatch(ctx, &all).Close())
	if errors.Is(err, ErrFenced) {
		c.e.node.giveUp(err)
	}
	return away(err)
}

// cluster returns nil for a database that has one server.
func (db *DB) cluster() *pgCluster {
	if db.pg != nil {
		return db.pg.cluster
	}
	return nil
}

// Clustered reports whether several servers use the database at the same time.
func (db *DB) Clustered() bool { return db.cluster() != nil }

// Writable reports whether this server may write, to its knowledge.
func (db *DB) Writable() bool {
	return db.pg == nil || db.pg.node.ended() == nil
}

// Evicted receives a value after this server has evicted another one. It is nil for a database with one server.
func (db *DB) Evicted() <-chan struct{} {
	if c := db.cluster(); c != nil {
		return c.gone
	}
	return nil
}

// goneNodes begins a statement with the missing nodes that still have runs. It skips from one number to the next,
// however many runs they have.
const goneNodes = `WITH RECURSIVE had(node) AS ((SELECT node FROM run WHERE node > 0 ORDER BY node LIMIT 1)
		UNION ALL SELECT (SELECT r.node FROM run r WHERE r.node > 0 AND r.node > had.node ORDER BY r.node LIMIT 1)
			FROM had WHERE had.node IS NOT NULL),
	gone AS (SELECT had.node FROM had
		WHERE had.node IS NOT NULL AND NOT EXISTS (SELECT 1 FROM node n WHERE n.id = had.node))`

// indexesOnly makes a claim use indexes and stop early, regardless of the planner's estimates: with low ones it would
// sort all waiting rows again and again.
const indexesOnly = `SELECT set_config('plan_cache_mode', 'force_generic_plan', true),
	set_config('enable_sort', 'off', true), set_config('enable_seqscan', 'off', true),
	set_config('enable_bitmapscan', 'off', true), set_config('enable_hashjoin', 'off', true),
	set_config('enable_mergejoin', 'off', true)`

// mayBegin is the condition under which this node may begin a waiting run. OFFSET prevents evaluating the subquery for
// all threads at once.
const mayBegin = `r.status = 'pending'
		AND NOT EXISTS (SELECT 1 FROM thread t JOIN node h ON h.id = t.hold WHERE t.id = r.thread)
		AND (r.ready <= extract(epoch FROM clock_timestamp()) * 1000 - ` + boxMillis + ` OR NOT EXISTS
			(SELECT 1 FROM thread t JOIN node b ON b.id = t.box WHERE t.id = r.thread AND b.id <> $1 OFFSET 0))`

// A claim takes runs of dead nodes first, since those never return, and then unassigned ones. Rows being changed by
// another transaction are skipped: waiting for one while holding others could deadlock. A row changed since the
// statement began is checked again before it is locked. An owner's runs are selected by range, so that run_waiting_of
// alone orders them, even if the database expects a single owner.
var (
	claimWaiting = claimOf(mayBegin, `run.thread`)
	claimShares  = claimFrom(mayBegin, `run.thread`, `SELECT r.id, r.node FROM unnest($3::text[], $4::bigint[]) AS share(owner, n),
			LATERAL (SELECT r.id, r.node FROM run r WHERE r.owner BETWEEN share.owner AND share.owner
				AND r.node = 0 AND r.front = 1 AND `+mayBegin+` ORDER BY r.owner, r.created_at, r.id LIMIT share.n FOR NO KEY UPDATE OF r SKIP LOCKED) r
			LIMIT $2 - (SELECT count(*) FROM behind)`)
	claimOrphans = claimOf(`r.status = 'running'`, `run.id, claimed.node`)
)

func claimOf(which, returning string) string {
	return claimFrom(which, returning, `SELECT r.id, r.node FROM run r WHERE r.node = 0 AND r.front = 1 AND `+which+`
			ORDER BY r.created_at, r.id LIMIT $2 - (SELECT count(*) FROM behind)
			FOR NO KEY UPDATE OF r SKIP LOCKED`)
}

// claimFrom builds a claim from a query for free runs.
func claimFrom(which, returning, free string) string {
	return goneNodes + `,
		behind AS MATERIALIZED (SELECT r.id, r.node FROM gone, LATERAL (SELECT r.id, r.node FROM run r
			WHERE r.node > 0 AND r.node = gone.node AND r.front = 1 AND ` + which + `
			LIMIT $2 FOR NO KEY UPDATE OF r SKIP LOCKED) r LIMIT $2),
		free AS MATERIALIZED (` + free + `),
		claimed AS MATERIALIZED (SELECT id, node FROM behind UNION ALL SELECT id, node FROM free)` + moveOn + `
		UPDATE run SET node = $1 FROM claimed WHERE run.id = claimed.id RETURNING ` + returning
}

// ClaimWaiting assigns this server up to n waiting runs at the front of their lines without a living server: first
// those of dead servers, in any order, then the oldest of the owners with the fewest active runs. It returns their
// threads. Runs whose thread has a sandbox on another server are reserved for it until [BoxPatience] has passed.
func (db *DB) ClaimWaiting(ctx context.Context, n int) (threads []string, err error) {
	if db.Strained() {
		return nil, nil
	}
	c := db.cluster()
	take := func(query string, args ...any) error {
		return c.claim(ctx, query, args, func(rows pgx.Rows) error {
			var thread string
			err := rows.Scan(&thread)
			threads = append(threads, thread)
			return err
		})
	}
	owners, shares, err := c.queue.shares(ctx, c, n)
	if err == nil && len(owners) > 0 {
		err = take(claimShares, db.w.node, n, owners, shares)
	}
	if err == nil && len(threads) < n { // including those another server was changing, or of owners with few runs
		err = take(claimWaiting, db.w.node, n-len(threads))
	}
	if err != nil && len(threads) == 0 {
		return nil, fmt.Errorf("claim runs that wait: %w", err)
	}
	if len(threads) > 0 && !db.w.wakes.expected.Load() {
		db.w.meter.Missed()
	}
	if len(threads) < n { // runs reserved for another server may become available without notice
		db.w.wakes.told.Store(true)
	}
	return threads, nil
}

// Orphan is a run under way that its server has left.
type Orphan struct {
	Run    string
	Handed bool // by a stopping server, at the end of a step
}

// ClaimOrphans assigns this server up to n active runs without a living server: first those of dead servers, in any
// order, then the oldest.
func (db *DB) ClaimOrphans(ctx context.Context, n int) (list []Orphan, err error) {
	if db.Strained() {
		return nil, nil
	}
	err = db.cluster().claim(ctx, claimOrphans, []any{db.w.node, n}, func(rows pgx.Rows) error {
		var o Orphan
		var node int64
		err := rows.Scan(&o.Run, &node)
		o.Handed = node == 0
		list = append(list, o)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("claim runs that were left: %w", err)
	}
	handed := 0
	for _, o := range list {
		handed += int(number(o.Handed))
	}
	db.w.meter.TakeOver("drain", handed)
	db.w.meter.TakeOver("eviction", len(list)-handed)
	return list, nil
}

// HoldThread keeps the runs of a thread from beginning until [DB.LetGo], or until this server is gone. ErrBusy if runs
// are in line, or another server holds it; ErrNotFound if the thread doesn't exist.
func (db *DB) HoldThread(ctx context.Context, thread string) error {
	p := &batch{Batch: Batch{ThreadID: clean(thread)}, setting: db.w.setting()}
	p.stmts = append(p.stmts, askThread(thread))
	p.stmts[0].sql = lockThread
	p.add("hold of thread", thread, `UPDATE thread SET hold = ?1 WHERE id = ?2
		AND NOT EXISTS (SELECT 1 FROM run WHERE thread = ?2 AND line > 0)
		AND (hold = ?1 OR NOT EXISTS (SELECT 1 FROM node WHERE node.id = thread.hold))`, p.self,
		p.ThreadID).must = ErrBusy
	p.measure()
	if err := db.w.do(ctx, &job{batch: p}); err != nil {
		return fmt.Errorf("hold thread %s: %w", thread, err)
	}
	return nil
}

// LetGo ends this server's hold on a thread.
func (db *DB) LetGo(ctx context.Context, thread string) error {
	p := &batch{Batch: Batch{ThreadID: clean(thread)}, setting: db.w.setting()}
	p.add("hold of thread", thread, `UPDATE thread SET hold = 0 WHERE id = ?1 AND hold = ?2`, p.ThreadID, p.self)
	p.measure()
	if err := db.w.do(ctx, &job{batch: p}); err != nil {
		return fmt.Errorf("let go of thread %s: %w", thread, err)
	}
	return nil
}

// PlanSpace holds requested plan changes for runs of other servers.
const PlanSpace = "plan_edit"

// Duties are the pending jobs of a server.
type Duties struct {
	Fronts  []AtFront // runs of this server
	Wishes  []Wished  // wishes for runs in lines whose front this server has, child runs included
	Orphans bool      // there may be runs to claim
	Waiting bool      // there may be waiting runs to claim
	Plans   bool      // a plan change is requested
}

// AtFront is a run at the front of the line of a thread.
type AtFront struct{ Thread, Run, Status string }

// Wished is a wish about a run of a thread.
type Wished struct {
	Thread string
	Wish
}

// Duties queries all of that at once.
func (db *DB) Duties(ctx context.Context) (d Duties, err error) {
	db.w.wakes.expected.Store(db.w.wakes.told.Swap(false))
	const query = goneNodes + `SELECT 'front', thread, id, status FROM run WHERE node = ?1 AND node > 0 AND front = 1
		UNION ALL SELECT 'wish', thread, id, wish FROM run WHERE wish <> '' AND status IN ('pending', 'running')
			AND EXISTS (SELECT 1 FROM run f WHERE f.thread = run.thread AND f.front = 1 AND f.node = ?1)
		UNION ALL SELECT DISTINCT 'free', '', '', r.status FROM gone JOIN run r ON r.node = gone.node AND r.node > 0
		UNION ALL SELECT 'free', '', '', 'pending' WHERE EXISTS (SELECT 1 FROM run
			WHERE node = 0 AND front = 1 AND status = 'pending')
		UNION ALL SELECT 'free', '', '', 'running' WHERE EXISTS (SELECT 1 FROM run
			WHERE node = 0 AND front = 1 AND status = 'running')
		UNION ALL SELECT DISTINCT 'plan', '', '', '' FROM kv WHERE owner = '' AND space = '` + PlanSpace + `'`
	err = db.each(ctx, query, []any{db.w.node}, func(rows *sql.Rows) (bool, error) {
		var what, thread, run, how string
		if err := rows.Scan(&what, &thread, &run, &how); err != nil {
			return false, err
		}
		switch what {
		case "front":
			d.Fronts = append(d.Fronts, AtFront{thread, run, how})
		case "wish":
			d.Wishes = append(d.Wishes, Wished{thread, Wish{Run: run, Wish: how}})
		case "plan":
			d.Plans = true
		default:
			d.Orphans, d.Waiting = d.Orphans || how == "running", d.Waiting || how == "pending"
		}
		return true, nil
	})
	if err != nil {
		return d, fmt.Errorf("read pending duties: %w", err)
	}
	return d, nil
}

// Alone reports that no other server uses the database now.
func (db *DB) Alone(ctx context.Context) (alone bool, err error) {
	err = db.queryRow(ctx, `SELECT NOT EXISTS (SELECT 1 FROM node WHERE id <> ?)`, []any{db.w.node}, &alone)
	return alone, err
}
