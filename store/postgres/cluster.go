package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

const sideTime = 5 * time.Second // time limit of a claim or query

// Cluster is the cluster part of a node: it polls the changes of other servers, and claims runs concurrently with the
// writer.
type Cluster struct {
	e     *Engine
	Gone  chan struct{} // gets a value when a node was evicted
	Pulse chan Pulse    // buffers the last one
	seen  atomic.Pointer[polled]
	stop  context.CancelFunc
	ctx   context.Context // cancelled by stop
	work  sync.WaitGroup

	mu   sync.Mutex
	conn *pgx.Conn // for claims

	queue queue
}

func (e *Engine) joinCluster() {
	ctx, stop := context.WithCancel(context.Background())
	e.Cluster = &Cluster{e: e, Gone: make(chan struct{}, 1), Pulse: make(chan Pulse, 1), ctx: ctx, stop: stop}
}

// leave stops background work before the node's row is removed.
func (c *Cluster) leave() {
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
func (c *Cluster) claim(ctx context.Context, query string, args []any, scan func(pgx.Rows) error) error {
	return c.beside(ctx, c.e.Meter.Claim, indexesOnly, query, args, scan)
}

// beside runs a statement in a separate transaction after the fence, with the settings made by another statement. took,
// which may be nil, receives the duration.
func (c *Cluster) beside(ctx context.Context, took func(time.Duration), settings, query string, args []any,
	scan func(pgx.Rows) error) error {
	ctx, cancel := context.WithTimeout(ctx, sideTime)
	defer cancel()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.e.Lease.Ended(); err != nil {
		return err
	}
	if err := reopen(ctx, c.e.cfg, &c.conn); err != nil {
		return unreachable(err)
	}
	if took != nil {
		began := time.Now()
		defer func() { took(time.Since(began)) }()
	}
	var all pgx.Batch // one transaction
	fence := c.e.fence()
	all.Queue(c.e.Bind(fence.SQL), fence.Args...)
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
		c.e.Lease.giveUp(err)
	}
	return unreachable(err)
}

// BoxPatience is how long a due run is reserved for the server with its thread's sandbox. After that, any server with
// room may claim it.
const BoxPatience = 250 * time.Millisecond

const boxMillis = `250` // BoxPatience in milliseconds

// briefLocks ends the wait for a row that another server has, as claims wait for the same connection.
const briefLocks = `SELECT set_config('lock_timeout', '500ms', true)`

// TakeBox records that this server has the sandbox of a thread of which a run is active here, and reports whether one is.
func (c *Cluster) TakeBox(ctx context.Context, thread string) (bool, error) {
	return c.changeBox(ctx, `UPDATE thread SET box = $1, box_wish = 0 WHERE id = $2
		AND EXISTS (SELECT 1 FROM run WHERE thread = $2 AND front = 1 AND node = $1) RETURNING 1`, thread)
}

// LeaveBox releases a thread's sandbox.
func (c *Cluster) LeaveBox(ctx context.Context, thread string) error {
	_, err := c.changeBox(ctx, `UPDATE thread SET box = 0, box_wish = 0 WHERE id = $2 AND box = $1 RETURNING 1`, thread)
	return err
}

// WishBoxAway records that this server needs the sandbox that another one has.
func (c *Cluster) WishBoxAway(ctx context.Context, thread string) error {
	_, err := c.changeBox(ctx, `UPDATE thread SET box_wish = $1 WHERE id = $2 AND box > 0 AND box <> $1 RETURNING 1`,
		thread)
	return err
}

// EndBox records that another server is to end a thread's sandbox, whatever runs there.
func (c *Cluster) EndBox(ctx context.Context, thread string) error {
	_, err := c.changeBox(ctx, `UPDATE thread SET box_wish = -1 WHERE id = $2 AND box > 0 AND box <> $1 RETURNING 1`, thread)
	return err
}

func (c *Cluster) changeBox(ctx context.Context, query, thread string) (found bool, err error) {
	err = c.beside(ctx, nil, briefLocks, query, []any{c.e.Lease.id, thread}, func(pgx.Rows) error {
		found = true
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("sandbox of thread %s: %w", thread, err)
	}
	return found, nil
}

// dutyQuery assigns a duty to a server unless a living server has it. Its holder keeps it by renewing the lease of its
// row in node.
const dutyQuery = `INSERT INTO duty(name, node) VALUES ($2, $1) ON CONFLICT (name) DO UPDATE SET node = excluded.node
	WHERE duty.node = excluded.node OR NOT EXISTS (SELECT 1 FROM node WHERE node.id = duty.node) RETURNING 1`

// TakeDuty assigns a duty of a single server to this one, unless another has it, and reports whether this server has it.
// A holder seen within about a second isn't checked again.
func (c *Cluster) TakeDuty(ctx context.Context, name string) (mine bool, err error) {
	if s := c.seen.Load(); s != nil && slices.Contains(s.taken, name) {
		return false, nil
	}
	err = c.claim(ctx, dutyQuery, []any{c.e.Lease.id, name}, func(pgx.Rows) error {
		mine = true
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("take the duty %s: %w", name, err)
	}
	return mine, nil
}

// LeaveDuty releases a duty for another server.
func (c *Cluster) LeaveDuty(ctx context.Context, name string) error {
	err := c.claim(ctx, `DELETE FROM duty WHERE node = $1 AND name = $2`, []any{c.e.Lease.id, name},
		func(pgx.Rows) error { return nil })
	if err != nil {
		return fmt.Errorf("leave the duty %s: %w", name, err)
	}
	return nil
}

// ServersSeen returns the servers as of the last poll in the order of their ids, nil before the first one.
func (c *Cluster) ServersSeen() []int64 {
	if s := c.seen.Load(); s != nil {
		return slices.Clone(s.servers)
	}
	return nil
}
