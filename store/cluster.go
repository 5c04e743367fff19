package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"fawn/store/postgres"
	"fawn/store/wake"
)

// cluster returns nil for a database that has one server.
func (db *DB) cluster() *postgres.Cluster {
	if db.pg != nil {
		return db.pg.Cluster
	}
	return nil
}

// Clustered reports whether several servers use the database at the same time.
func (db *DB) Clustered() bool { return db.cluster() != nil }

// Writable reports whether this server may write, to its knowledge.
func (db *DB) Writable() bool {
	return db.pg == nil || db.pg.Lease.Ended() == nil
}

// Evicted receives a value after this server has evicted another one. It is nil for a database with one server.
func (db *DB) Evicted() <-chan struct{} {
	if c := db.cluster(); c != nil {
		return c.Gone
	}
	return nil
}

// Now returns the time by the common clock of the database's servers, whose own clocks may differ. Use it for stored
// times. It isn't suited for measuring durations, since the clock may be adjusted.
func (db *DB) Now() time.Time { return db.engine.Now() }

// Self returns this server's number in the database.
func (db *DB) Self() int64 { return db.w.node }

// Shared reports whether other servers can reach the database.
func (db *DB) Shared() bool {
	return db.pg != nil
}

// Crowded sets whether this server has no room for more runs. Meanwhile any server may claim runs that its batches
// bring to the front.
func (db *DB) Crowded(full bool) { db.w.crowded.Store(full) }

// TakeOver assigns all runs at the front of lines to this server. It is for start-up of a database with one server at a
// time, whose previous owner is gone.
func (db *DB) TakeOver(ctx context.Context) error {
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		return w.exec(`UPDATE run SET node = ?1 WHERE front = 1 AND node <> ?1`, w.node)
	}})
	if err != nil {
		return fmt.Errorf("take over runs: %w", err)
	}
	return nil
}

// Node returns the status of this process; false for an SQLite database, which needs none.
func (db *DB) Node() (NodeStatus, bool) {
	if db.pg == nil {
		return NodeStatus{}, false
	}
	return db.pg.Status(), true
}

// Pulses delivers the last pulse, once. Receiving is optional. It is nil for a database with one server.
func (db *DB) Pulses() <-chan Pulse {
	if c := db.cluster(); c != nil {
		return c.Pulse
	}
	return nil
}

// ClaimWaiting assigns this server up to n waiting runs at the front of their lines without a living server: first
// those of dead servers, in any order, then the oldest of the owners with the fewest active runs. It returns their
// threads. Runs whose thread has a sandbox on another server are reserved for it until [BoxPatience] has passed.
func (db *DB) ClaimWaiting(ctx context.Context, n int) (threads []string, err error) {
	if db.Strained() {
		return nil, nil
	}
	threads, err = db.cluster().ClaimWaiting(ctx, n)
	if err != nil {
		return nil, err
	}
	if len(threads) > 0 && !db.w.wakes.Expected() {
		db.w.meter.Missed()
	}
	if len(threads) < n { // runs reserved for another server may become available without notice
		db.w.wakes.Remind()
	}
	return threads, nil
}

// ClaimOrphans assigns this server up to n active runs without a living server: first those of dead servers, in any
// order, then the oldest.
func (db *DB) ClaimOrphans(ctx context.Context, n int) ([]Orphan, error) {
	if db.Strained() {
		return nil, nil
	}
	return db.cluster().ClaimOrphans(ctx, n)
}

// HoldThread keeps the runs of a thread from beginning until [DB.LetGo], or until this server is gone. ErrBusy if runs
// are in line, or another server holds it; ErrNotFound if the thread doesn't exist.
func (db *DB) HoldThread(ctx context.Context, thread string) error {
	p := &batch{Batch: Batch{ThreadID: clean(thread)}, setting: db.w.setting()}
	p.Stmts = append(p.Stmts, askThread(thread))
	p.Stmts[0].SQL = lockThread
	p.add("hold of thread", thread, `UPDATE thread SET hold = ?1 WHERE id = ?2
		AND NOT EXISTS (SELECT 1 FROM run WHERE thread = ?2 AND line > 0)
		AND (hold = ?1 OR NOT EXISTS (SELECT 1 FROM node WHERE node.id = thread.hold))`, p.self,
		p.ThreadID).Must = ErrBusy
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
		return fmt.Errorf("release thread %s: %w", thread, err)
	}
	return nil
}

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
	db.w.wakes.Look()
	const query = postgres.GoneNodes + `SELECT 'front', thread, id, status FROM run WHERE node = ?1 AND node > 0 AND front = 1
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

// TakeDuty assigns a duty of a single server to this one, unless another has it, and reports whether this server has
// it. A holder seen within about a second isn't checked again. The duty ends with [DB.LeaveDuty], or with the server's
// right to write. A single server has every duty.
func (db *DB) TakeDuty(ctx context.Context, name string) (mine bool, err error) {
	if c := db.cluster(); c != nil {
		return c.TakeDuty(ctx, name)
	}
	return true, nil
}

// LeaveDuty releases a duty for another server.
func (db *DB) LeaveDuty(ctx context.Context, name string) error {
	if c := db.cluster(); c != nil {
		return c.LeaveDuty(ctx, name)
	}
	return nil
}

// ServersSeen returns the servers as of the last poll, about a second ago, in the order of their ids.
func (db *DB) ServersSeen(ctx context.Context) ([]int64, error) {
	if c := db.cluster(); c != nil {
		if list := c.ServersSeen(); list != nil {
			return list, nil
		}
	}
	return db.Servers(ctx)
}

// Servers returns the current servers in the order of their ids.
func (db *DB) Servers(ctx context.Context) ([]int64, error) {
	list, err := rowsOf(ctx, db, `SELECT id FROM node ORDER BY id`, nil, func(rows scanner) (id int64, err error) {
		err = rows.Scan(&id)
		return id, err
	})
	if err != nil {
		return nil, fmt.Errorf("list servers: %w", err)
	}
	return list, nil
}

// NodeConfig is which configuration a server has.
type NodeConfig struct {
	ID         int64
	Host, Addr string
	Sum        string // hash of its text, "" if not reported
}

// NodeConfigs returns the configuration hashes of all servers of a database.
func (db *DB) NodeConfigs(ctx context.Context) (list []NodeConfig, err error) {
	const query = `SELECT id, host, address, settings FROM node ORDER BY id`
	list, err = rowsOf(ctx, db, query, nil, func(rows scanner) (n NodeConfig, err error) {
		err = rows.Scan(&n.ID, &n.Host, &n.Addr, &n.Sum)
		return n, err
	})
	if err != nil {
		return nil, fmt.Errorf("read configurations of servers: %w", err)
	}
	return list, nil
}

// SayConfig reports which configuration this server has.
func (db *DB) SayConfig(ctx context.Context, sum string) error {
	p := &batch{setting: db.w.setting()}
	p.add("say configuration of node", "", `UPDATE node SET settings = ? WHERE id = ?`, sum, p.self)
	p.measure()
	return db.w.do(ctx, &job{batch: p})
}

// WakePoll for [Config.Wake] makes servers poll more often instead of notifying each other.
const WakePoll = "poll"

// Wakes are hints between servers that share a database, and within one. [DB] implements them.
type Wakes interface {
	// Hear calls f for each wake-up of a kind for or about a server, 0 for those for all, until stop is called; f may
	// be running then. f must return at once. When hints may have been lost it is called with All.
	Hear(kind WakeKind, server int64, f func(Wake)) (stop func())
	// Say wakes the listeners of a kind on all servers. It never waits. Hints in quick succession are combined.
	Say(kind WakeKind, server int64, ids ...string)
	// Polls reports whether other servers send no hints, which requires frequent polling.
	Polls() bool
}

var _ Wakes = (*DB)(nil)

// Hear implements [Wakes].
func (db *DB) Hear(kind WakeKind, server int64, f func(Wake)) (stop func()) {
	return db.w.wakes.Hear(wake.Topic{Kind: kind, Server: server}, f)
}

// Say implements [Wakes].
func (db *DB) Say(kind WakeKind, server int64, ids ...string) {
	db.w.wakes.Say(wake.Topic{Kind: kind, Server: server}, ids...)
}

// Polls implements [Wakes].
func (db *DB) Polls() bool { return db.Shared() && !db.w.wakes.Wired() }

// Box is the location of a thread's sandbox.
type Box struct {
	Node  int64 // server that had it last, 0 for none
	Lives bool  // Node is alive and has it
}

// Box returns the place of a thread's sandbox; the zero value if the thread does not exist.
func (db *DB) Box(ctx context.Context, thread string) (b Box, err error) {
	err = db.queryRow(ctx, `SELECT box, EXISTS (SELECT 1 FROM node WHERE node.id = thread.box) FROM thread WHERE id = ?`,
		[]any{thread}, &b.Node, &b.Lives)
	if errors.Is(err, ErrNotFound) {
		return Box{}, nil
	}
	if err != nil {
		return Box{}, fmt.Errorf("sandbox of thread %s: %w", thread, err)
	}
	return b, nil
}

// TakeBox records that this server has the sandbox of a thread, regardless of its previous server. It returns false if no
// run of the thread is active here, since another server may be about to start one. It doesn't wait for groups of changes.
func (db *DB) TakeBox(ctx context.Context, thread string) (bool, error) {
	return db.cluster().TakeBox(ctx, thread)
}

// LeaveBox releases a thread's sandbox and wakes the servers that wait for it.
func (db *DB) LeaveBox(ctx context.Context, thread string) error {
	err := db.cluster().LeaveBox(ctx, thread)
	if err == nil {
		db.Say(WakeBox, 0, thread)
	}
	return err
}

// WishBoxAway asks the server with the sandbox of a thread to end it, because a run of the thread on this server needs
// it. The request is valid as long as the run.
func (db *DB) WishBoxAway(ctx context.Context, thread string) error {
	err := db.cluster().WishBoxAway(ctx, thread)
	if err == nil {
		db.Say(WakeBox, 0, thread)
	}
	return err
}

// EndBox asks the server with the sandbox of a thread to end it, whatever runs there, as its project has changed.
func (db *DB) EndBox(ctx context.Context, thread string) error {
	err := db.cluster().EndBox(ctx, thread)
	if err == nil {
		db.Say(WakeBox, 0, thread)
	}
	return err
}

// BarBoxes asks servers to end the sandboxes of a disabled user.
func (db *DB) BarBoxes(threads []string) {
	if len(threads) > 0 {
		db.Say(WakeBox, 0, threads...)
	}
}

// UnwantedBox is a sandbox that should end.
type UnwantedBox struct {
	Thread string
	Why    BoxEnd
}

// BoxEnd is why a sandbox should end.
type BoxEnd int

// Reasons for ending a sandbox.
const (
	BoxBarred  BoxEnd = iota // its user is disabled and has no runs
	BoxNeeded                // a run on another server needs it
	BoxChanged               // [DB.EndBox] requested it
)

// UnwantedBoxes returns the sandboxes on this server that should end.
func (db *DB) UnwantedBoxes(ctx context.Context) (boxes []UnwantedBox, err error) {
	boxes, err = rowsOf(ctx, db, `SELECT id, box_wish, CASE WHEN EXISTS (SELECT 1 FROM run
			WHERE run.thread = thread.id AND run.front = 1) THEN 1 ELSE 0 END FROM thread WHERE box = ? AND (box_wish < 0 OR box_wish > 0 AND EXISTS (SELECT 1 FROM run
			WHERE run.thread = thread.id AND run.front = 1 AND run.node = thread.box_wish)
		OR EXISTS (SELECT 1 FROM "user" u WHERE u.id = thread.owner AND u.disabled <> 0)
			AND NOT EXISTS (SELECT 1 FROM run WHERE run.thread = thread.id AND run.front = 1))`, []any{db.w.node},
		func(rows scanner) (b UnwantedBox, err error) {
			var wish, front int64
			err = rows.Scan(&b.Thread, &wish, &front)
			switch {
			case wish < 0:
				b.Why = BoxChanged
			case wish > 0 && front > 0:
				b.Why = BoxNeeded
			}
			return b, err
		})
	if err != nil {
		return nil, fmt.Errorf("sandboxes that are to end: %w", err)
	}
	return boxes, nil
}
