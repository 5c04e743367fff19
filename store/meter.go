package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"
)

// ErrCrowded means that too many runs wait for more to be accepted.
var ErrCrowded = errors.New("too many runs are waiting; try again in a moment")

const (
	pendingFor = 250 * time.Millisecond // how long a count of waiting runs is valid
)

// pending caches the number of waiting runs by owner.
type pending struct {
	mu  sync.Mutex
	n   int
	own map[string]int
	at  time.Time
}

// crowded reports whether a run of an owner exceeds the limit: the maximum waits, and this owner has its share of
// them. Others find room, however many runs one owner starts.
func (p *pending) crowded(owner string, limit int) bool {
	owners := len(p.own)
	if p.own[owner] == 0 {
		owners++
	}
	return p.n >= limit && p.own[owner] >= max(1, limit/owners)
}

// admit refuses a new run when too many wait.
func (db *DB) admit(ctx context.Context, b *Batch) error {
	if db.cfg.MaxPending <= 0 || !b.NewRun || b.Run.Parent != "" {
		return nil
	}
	p := &db.pending
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.at) > pendingFor {
		if err := db.countPending(db.brief(ctx), p); err != nil {
			return err
		}
		p.at = time.Now()
	}
	if p.crowded(cmp.Or(b.Run.Owner, DefaultOwner), db.cfg.MaxPending) {
		return ErrCrowded
	}
	return nil
}

// countPending counts the runs that wait in lines.
func (db *DB) countPending(ctx context.Context, p *pending) error {
	const query = `SELECT owner, count(*) FROM run WHERE line > 0 AND status = 'pending' GROUP BY owner`
	p.n, p.own = 0, map[string]int{}
	return db.each(ctx, query, nil, func(rows *sql.Rows) (bool, error) {
		var owner string
		var n int
		err := rows.Scan(&owner, &n)
		p.own[owner], p.n = n, p.n+n
		return true, err
	})
}

// Strained reports whether commits are so slow that this server claims no runs, leaving them to others. It is never
// true for a database with one server.
func (db *DB) Strained() bool { return db.Clustered() && db.w.Strained() }

// PoolWait returns the total time queries have waited for a connection.
func (db *DB) PoolWait() time.Duration { return db.engine.Reads().Stats().WaitDuration }

// Orphans counts the active runs without a live server.
func (db *DB) Orphans(ctx context.Context) (n int, err error) {
	const query = `SELECT count(*) FROM run WHERE front = 1 AND status = 'running' AND NOT {living}`
	err = db.queryRow(ctx, query, nil, &n)
	return n, err
}

// tailReads are when the tails of other servers were last read to their ends.
type tailReads struct {
	mu sync.Mutex
	at map[int64]time.Time
}

const tailForgotten = time.Minute // a server whose tail is no longer read

func (t *tailReads) note(server int64, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.at == nil {
		t.at = map[int64]time.Time{}
	}
	t.at[server] = now
}

// TailLags returns, for each server whose runs are read here, the time since its tail was last read to the end.
func (db *DB) TailLags() map[int64]time.Duration {
	t := &db.tails
	t.mu.Lock()
	defer t.mu.Unlock()
	lags := map[int64]time.Duration{}
	for server, at := range t.at {
		if lag := time.Since(at); lag < tailForgotten {
			lags[server] = lag
		} else {
			delete(t.at, server)
		}
	}
	return lags
}
