package postgres

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"

	"fawn/store/wake"
)

// pulseEvery is the approximate interval of a node's poll. One query answers everything that parts of this process
// would poll separately, so an idle server causes little load.
const pulseEvery = time.Second

// Pulse is the result of a poll: pending work of a server. Hints only make it earlier.
type Pulse struct {
	Duties bool // runs, wishes or plans wait for this server
	Due    bool // a delayed run is due
}

// polled is the result of a node's last poll.
type polled struct {
	expired bool     // another node's lease has ended
	servers []int64  // all nodes
	taken   []string // duties of other servers
	changes int64    // change counter of all settings
	nextDue int64    // when the next delayed run is due, in milliseconds, 0 for none
	duties  bool
}

// lookQuery finds out all of that in one round trip. The node is $1.
const lookQuery = GoneNodes + `SELECT EXISTS (SELECT 1 FROM node WHERE expires < clock_timestamp() AND id <> $1),
	ARRAY(SELECT id::bigint FROM node ORDER BY id),
	ARRAY(SELECT duty.name::text FROM duty JOIN node ON node.id = duty.node WHERE node.id <> $1),
	(SELECT coalesce(sum(version), 0)::bigint FROM setting),
	(SELECT coalesce(min(due_at), 0)::bigint FROM run WHERE due_at > 0),
	EXISTS (SELECT 1 FROM run WHERE node = $1 AND node > 0 AND front = 1)
		OR EXISTS (SELECT 1 FROM run WHERE wish <> '' AND status IN ('pending', 'running')
			AND EXISTS (SELECT 1 FROM run f WHERE f.thread = run.thread AND f.front = 1 AND f.node = $1))
		OR EXISTS (SELECT 1 FROM gone)
		OR EXISTS (SELECT 1 FROM run WHERE node = 0 AND front = 1 AND status = 'pending')
		OR EXISTS (SELECT 1 FROM run WHERE node = 0 AND front = 1 AND status = 'running')
		OR EXISTS (SELECT 1 FROM kv WHERE owner = '' AND space = '` + PlanSpace + `')`

// watch polls, notifies this process of pending work, and evicts nodes with expired leases.
func (c *Cluster) watch(w *wake.Hub) {
	var conn *pgx.Conn
	defer func() {
		if conn != nil {
			conn.Close(context.WithoutCancel(c.ctx))
		}
	}()
	for {
		select {
		case <-time.After(pulseEvery*4/5 + rand.N(pulseEvery*2/5)):
		case <-c.ctx.Done():
			return
		}
		if c.e.Lease.Ended() != nil {
			return
		}
		if err := c.beat(w, &conn); err != nil && c.ctx.Err() == nil {
			c.e.log.Warn("couldn't poll other servers", "err", err)
		}
	}
}

func (c *Cluster) beat(w *wake.Hub, conn **pgx.Conn) error {
	told := w.Take()
	s, err := c.queryAll(conn)
	if told && (err != nil || s.duties) { // notify receivers
		w.Remind()
	}
	if err != nil {
		return err
	}
	if last := c.seen.Swap(&s); last == nil || last.changes != s.changes {
		w.Tell(wake.Topic{Kind: wake.Setting, Server: 0}, wake.Hint{Kind: wake.Setting, All: true})
	}
	select {
	case <-c.Pulse: // drop the older one
	default:
	}
	c.Pulse <- Pulse{Duties: s.duties, Due: s.nextDue > 0 && s.nextDue <= c.e.Lease.clock.now().UnixMilli()}
	if !s.expired {
		return nil
	}
	return c.evictExpired(*conn)
}

// queryAll queries everything at once.
func (c *Cluster) queryAll(conn **pgx.Conn) (s polled, err error) {
	ctx, cancel := context.WithTimeout(c.ctx, sideTime)
	defer cancel()
	if err := reopen(ctx, c.e.direct, conn); err != nil {
		return s, err
	}
	err = (*conn).QueryRow(ctx, lookQuery, c.e.Lease.id).Scan(&s.expired, &s.servers, &s.taken, &s.changes, &s.nextDue,
		&s.duties)
	return s, err
}

func (c *Cluster) evictExpired(conn *pgx.Conn) error {
	rows, err := conn.Query(c.ctx, `SELECT id, host, pid, address FROM node WHERE expires < clock_timestamp()
		AND id <> $1 ORDER BY id`, c.e.Lease.id)
	if err != nil {
		return err
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (n Node, err error) {
		return n, row.Scan(&n.ID, &n.Host, &n.PID, &n.Addr)
	})
	if err != nil {
		return err
	}
	for _, n := range list {
		gone, err := evict(c.ctx, conn, n.ID, "")
		if err != nil {
			return fmt.Errorf("evict %v: %w", n, err)
		}
		if gone {
			c.e.log.Warn("evicted a lost server", "evicted", n.ID, "server", n.String())
			poke(c.Gone) // unless a value is pending
		}
	}
	return nil
}
