package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"fawn/store/commit"
)

const (
	beatEvery  = 3 * time.Second        // or three tenths of the lease, if shorter
	beatAgain  = 300 * time.Millisecond // interval after a failed renewal
	lookEvery  = 250 * time.Millisecond // polling interval while waiting for a lease to end
	evictTries = 3
	leaveTime  = 2 * time.Second
	codeFenced = "FW001" // see the function fence
	codeLocked = "55P03"
)

// Lease is this process's lease: it renews its row on a separate connection and measures the lease's expiry by its own
// clock.
type Lease struct {
	id    int64
	lease time.Duration
	conf  *pgx.ConnConfig
	lost  func(error) // may be nil
	log   *slog.Logger

	origin  time.Time     // reference time of renewed, by the monotonic clock
	renewed atomic.Int64  // send time of the last successful renewal
	fenced  atomic.Uint64 // commits that were refused
	format  atomic.Int64  // newest event format that all nodes read, as of the last renewal
	Others  atomic.Int64  // number of other nodes at the last renewal
	acked   atomic.Int64  // the newest stored tail row, 0 for none
	pooled  atomic.Bool   // a pooler hides a database takeover from writers
	over    atomic.Pointer[error]
	wires   *wires
	clock   clock

	conn *pgx.Conn // belongs to run
	stop context.CancelFunc
	done chan struct{}
}

// left returns the rest of a period since the last renewal, never negative.
func (n *Lease) start(sent time.Time) {
	n.origin = sent
	ctx, stop := context.WithCancel(context.Background())
	n.stop, n.done = stop, make(chan struct{})
	go n.run(ctx)
}

// left returns how much of a time since the last renewal is not over, never negative.
func (n *Lease) left(of time.Duration) time.Duration {
	return max(0, of-(time.Since(n.origin)-time.Duration(n.renewed.Load())))
}

// patience returns how long a node continues without renewal: a third of the lease is reserved for stopping.
func (n *Lease) patience() time.Duration { return n.left(n.lease * 2 / 3) }

func (n *Lease) run(ctx context.Context) {
	defer close(n.done)
	wait := min(beatEvery, n.lease*3/10)
	var failed error // last error
	for next := wait; ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(min(next, n.patience())):
		}
		err := n.renew(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			next, failed = wait, nil
		case errors.Is(err, ErrFenced):
			n.giveUp(err)
			return
		case n.patience() <= 0: // the timeout left no time, so an earlier error is more telling
			n.giveUp(fmt.Errorf("%w: couldn't renew the lease for %v: %w", ErrFenced,
				(n.lease * 2 / 3).Round(time.Millisecond), cmp.Or(failed, err)))
			return
		default:
			next, failed = beatAgain, err
		}
	}
}

// renew renews the lease in the database. A response after its expiry doesn't count.
func (n *Lease) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, min(n.lease/5, n.patience()))
	defer cancel()
	sent := time.Since(n.origin)
	if err := n.connect(ctx); err != nil {
		return err
	}
	var others, format, last int64
	var said time.Time
	acked, span, asked := n.acked.Load(), commit.SpanOf(n.id), time.Now()
	err := n.conn.QueryRow(ctx, `UPDATE node SET expires = clock_timestamp() + make_interval(secs => $2) WHERE id = $1
		RETURNING (SELECT count(*) FROM node WHERE id <> $1), (SELECT min(format) FROM node),
			(SELECT coalesce(max(id), 0) FROM tail WHERE id >= $3 AND id < $4), clock_timestamp()`, n.id, n.lease.Seconds(), span.First,
		span.End).Scan(&others, &format, &last, &said)
	if errors.Is(err, pgx.ErrNoRows) {
		return errEvicted
	}
	if err != nil {
		return err
	}
	if last < acked {
		return errBehind
	}
	n.clock.hear(asked, time.Now(), said)
	n.Others.Store(others)
	n.format.Store(format)
	n.renewed.Store(int64(sent))
	return nil
}

// connect opens the separate connection if necessary.
func (n *Lease) connect(ctx context.Context) (err error) {
	if n.conn != nil && !n.conn.IsClosed() {
		return nil
	}
	if n.conn, err = pgx.ConnectConfig(ctx, n.conf); err != nil {
		n.conn = nil
		return fmt.Errorf("connect to the database: %w", err)
	}
	if n.pooled.Load() {
		if err := failedOver(ctx, n.conn, n.log); err != nil {
			n.conn.Close(ctx)
			return err
		}
	}
	return nil
}

// stored records that a row of the tail was written.
func (n *Lease) stored(row int64) {
	if row > 0 {
		n.acked.Store(row)
	}
}

// giveUp ends this node permanently: operations under way fail, new writes are refused, and the process's owner is
// notified once.
func (n *Lease) giveUp(err error) {
	if !n.over.CompareAndSwap(nil, &err) {
		return
	}
	n.wires.cut()
	n.log.Error("lost the write lease; shutting down", "self", n.id, "err", err)
	if n.lost != nil {
		n.lost(err)
	}
}

// Ended returns the reason why this node may no longer write, nil while it may.
func (n *Lease) Ended() error {
	if err := n.over.Load(); err != nil {
		return *err
	}
	return nil
}

// leave stops the renewals and deletes the row, so others needn't wait for the lease to expire. If that fails, it
// expires.
func (n *Lease) leave() {
	n.stop()
	<-n.done
	ctx, cancel := context.WithTimeout(context.Background(), leaveTime)
	defer cancel()
	if n.Ended() != nil && n.conn != nil {
		n.conn.Close(ctx) // it may have been cut
	}
	if !errors.Is(n.Ended(), errEvicted) {
		err := n.connect(ctx)
		if err == nil {
			_, err = n.conn.Exec(ctx, `DELETE FROM node WHERE id = $1`, n.id)
		}
		if err != nil {
			n.log.Warn("couldn't renew the lease; another server may take over", "self", n.id, "err", err)
			n.wires.cut() // don't wait for an unresponsive database
		}
	}
	if n.conn != nil {
		n.conn.Close(ctx)
	}
}

// enter registers this node once no other is active. It waits for the lease of a possibly dead process; if that is
// renewed meanwhile, its node is alive and this one is refused.
func (e *Engine) enter(ctx context.Context, cfg Config) error {
	seen := map[int64]time.Time{}
	for first := true; ; first = false {
		if err := e.lockStart(ctx, cfg.Cluster); err != nil {
			return err
		}
		others, err := e.clear(ctx, cfg.Folder)
		why := ""
		if err == nil && cfg.Cluster {
			others, why, err = e.foreign(ctx, others)
		}
		if err != nil {
			return err
		}
		if len(others) == 0 {
			break
		}
		if err := e.endTurn(ctx); err != nil {
			return err
		}
		for _, n := range others {
			if was, ok := seen[n.ID]; ok && n.Expires.After(was) {
				return &TakenError{Schema: e.schema, Node: n, Why: why}
			}
			seen[n.ID] = n.Expires
		}
		if first {
			e.log.Info("waiting for another server's lease to expire", "server", others[0].String(), "ends",
				others[0].Left.Round(time.Second))
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(lookEvery):
		}
	}
	if err := e.migrate(ctx, cfg.NoMigrate); err != nil {
		return err
	}
	if err := failedOver(ctx, e.raw, e.log); err != nil {
		return err
	}
	if err := e.register(ctx, cfg); err != nil {
		return translate(err)
	}
	return e.endTurn(ctx)
}

// clear evicts expired nodes and returns the others.
func (e *Engine) clear(ctx context.Context, folder string) (others []Node, err error) {
	list, err := nodes(ctx, e.raw)
	for _, n := range list {
		if n.Left <= 0 || n.folder == folder && folder != "" {
			var gone bool
			if gone, err = evict(ctx, e.raw, n.ID, folder); err != nil {
				return nil, fmt.Errorf("evict %v: %w", n, err)
			}
			if gone {
				e.log.Warn("taking over from another server", "evicted", n.ID, "server", n.String())
				continue
			}
		}
		others = append(others, n)
	}
	return others, err
}

// foreign returns nodes that can't share the database with this process.
func (e *Engine) foreign(ctx context.Context, others []Node) (list []Node, why string, err error) {
	for _, n := range others {
		if !n.cluster {
			list, why = append(list, n), "it has the database for itself"
		}
	}
	if len(list) > 0 || len(others) == 0 {
		return list, why, nil
	}
	return nil, "", e.outdated(ctx, others)
}

func number(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}

// nodes returns the rows of node, none in a schema that has none yet.
func nodes(ctx context.Context, conn *pgx.Conn) (list []Node, err error) {
	var there bool
	err = conn.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass('node')
		AND attname = 'expires')`).Scan(&there)
	if err != nil || !there {
		return nil, err
	}
	rows, err := conn.Query(ctx, `SELECT id, host, pid, address, version, folder, started_at, expires,
		extract(epoch FROM expires - clock_timestamp())::float8, coalesce(to_jsonb(node) ->> 'cluster', '0') = '1',
		coalesce(to_jsonb(node) ->> 'schema', '0')::bigint, settings FROM node ORDER BY id`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (n Node, err error) {
		var started int64
		var left float64
		err = row.Scan(&n.ID, &n.Host, &n.PID, &n.Addr, &n.Version, &n.folder, &started, &n.Expires, &left, &n.cluster,
			&n.schema, &n.Settings)
		n.Started, n.Left = time.UnixMilli(started).UTC(), time.Duration(left*float64(time.Second))
		return n, err
	})
}

// evict deletes the row of an expired node, or of one that used the folder held by this process. It waits for that
// node's current transaction; connections with hanging transactions are terminated.
func evict(ctx context.Context, conn *pgx.Conn, id int64, folder string) (gone bool, err error) {
	for range evictTries {
		err = conn.QueryRow(ctx, `SELECT evict($1, $2)`, id, folder).Scan(&gone)
		if pg, ok := errors.AsType[*pgconn.PgError](err); !ok || pg.Code != codeLocked {
			break
		}
		if _, err := conn.Exec(ctx, `SELECT unblock($1)`, id); err != nil {
			return false, err
		}
	}
	return gone, err
}

// register creates our row, whose lease is renewed from then on.
func (e *Engine) register(ctx context.Context, cfg Config) error {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	n := &Lease{lease: cmp.Or(cfg.Lease, DefaultLease), conf: e.direct, lost: cfg.Lost, log: e.log, wires: e.wires}
	sent, format := time.Now(), int64(0)
	var said time.Time
	err = e.raw.QueryRow(ctx, `
		INSERT INTO node(host, pid, address, started_at, folder, version, format, settings, expires, cluster,
			schema)
		VALUES ($1, $2, $3, (extract(epoch FROM clock_timestamp()) * 1000)::bigint, $4, $5, $6, $7,
			clock_timestamp() + make_interval(secs => $8), $9, $10)
		RETURNING id, (SELECT coalesce(min(format), $6) FROM node), clock_timestamp()`,
		host, os.Getpid(), cfg.Addr, cfg.Folder, cfg.Version, NodeFormat, cfg.Settings, n.lease.Seconds(),
		number(cfg.Cluster), e.known.newest()).Scan(&n.id, &format, &said)
	if err != nil {
		return err
	}
	n.clock.hear(sent, time.Now(), said)
	// Before anything else connects: the name distinguishes the connections of nodes.
	e.direct.RuntimeParams["application_name"] = fmt.Sprintf("fawn/%d", n.id)
	n.format.Store(min(format, NodeFormat))
	e.Lease = n
	n.start(sent)
	if cfg.Cluster {
		e.joinCluster()
	}
	_, err = e.raw.Exec(ctx, `SELECT set_config('application_name', $1, false)`,
		e.direct.RuntimeParams["application_name"])
	return err
}

// DefaultLease is the time without renewal after which another node may take over.
const DefaultLease = 10 * time.Second

// NodeFormat is the newest form of events that this program reads.
const NodeFormat = 1

// ErrFenced means that this process may no longer write: another has taken over the database, or may have. Only a
// restart helps.
var ErrFenced = errors.New("this server may no longer write to the database")

// Node is a server that has a database.
type Node struct {
	ID      int64
	Host    string
	PID     int64
	Addr    string // served address, "" for a command
	Version string
	Started time.Time
	Expires time.Time     // by the database's clock
	Left    time.Duration // remaining lease at the time of the query

	Settings string // hash of its configuration

	folder  string
	cluster bool // it shares the database with others
	schema  int  // newest supported schema version, 0 if not reported
}

// String describes the node for its owner.
func (n Node) String() string {
	s := fmt.Sprintf("process %d on %s", n.PID, n.Host)
	if n.Addr != "" {
		s += " serving " + n.Addr
	}
	return s
}

// TakenError means that another server uses the database.
type TakenError struct {
	Schema string
	Node   Node   // the zero value for a server that is starting
	Why    string // why it can't be joined, for a joining server
}

// Error reports which, and when another may have it.
func (e *TakenError) Error() string {
	switch {
	case e.Node.PID == 0:
		return fmt.Sprintf("%v that is starting (schema %s); try again", errTaken, e.Schema)
	case e.Why != "":
		return fmt.Sprintf("%v: %v (schema %s), which cannot be joined: %s", errTaken, e.Node, e.Schema, e.Why)
	case e.Node.Expires.IsZero():
		return fmt.Sprintf("%v: %v (schema %s); stop it first, as one at a time can", errTaken, e.Node, e.Schema)
	}
	return fmt.Sprintf("%v: %v (schema %s). It lives: its lease is for %s more, and it keeps "+
		"renewing it. Stop it first, as one at a time can", errTaken, e.Node, e.Schema, e.Node.Left.Round(time.Second))
}

// Unwrap supports errors.Is.
func (e *TakenError) Unwrap() error { return errTaken }

// NodeStatus is this process's lease.
type NodeStatus struct {
	ID     int64
	Lease  time.Duration // remaining validity without renewal, never negative
	Fenced uint64        // commits refused because the lease was over
	Format int64         // newest event format that every server reads, and the limit for writing
	Ended  error         // why this process may no longer write, nil while it may
}

// Status returns the state of this process's lease.
func (e *Engine) Status() NodeStatus {
	return NodeStatus{ID: e.Lease.id, Lease: e.Lease.left(e.Lease.lease), Fenced: e.Lease.fenced.Load(),
		Format: e.Lease.format.Load(), Ended: e.Lease.Ended()}
}

// clock is the common time of a database's servers: the database's last reported time plus the local time passed since.
// A nil clock is the machine's, for a database in a file.
type clock struct {
	told atomic.Pointer[reading]
}

// reading is the database's time at a moment of the local monotonic clock.
type reading struct{ here, there time.Time }

func (c *clock) now() time.Time {
	if c == nil {
		return time.Now()
	}
	r := c.told.Load()
	if r == nil {
		return time.Now()
	}
	return r.there.Add(time.Since(r.here))
}

// hear updates the clock with a time that the database reported between two local moments. While the estimate is
// consistent with it nothing changes, so the clock doesn't fluctuate with response times.
func (c *clock) hear(sent, got, said time.Time) {
	if r := c.told.Load(); r != nil {
		least, most := r.there.Add(sent.Sub(r.here)), r.there.Add(got.Sub(r.here))
		if !said.Before(least) && !said.After(most) {
			return
		}
	}
	c.told.Store(&reading{here: sent.Add(got.Sub(sent) / 2), there: said})
}
