package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"
)

// Meter observes this server's work on a shared database. Its methods must be quick; they are called for groups and
// claims, never for a token.
type Meter interface {
	// Group reports a committed group of changes: their number, the duration of the commit, and how long its oldest
	// token waited until it was durable, 0 for a group without one.
	Group(items int, took, waited time.Duration)
	// Claim reports one search for runs that this server may have.
	Claim(took time.Duration)
	// Said reports how long a notification for other servers waited until it was sent.
	Said(waited time.Duration)
	// TakeOver counts runs that this server takes over because of "eviction" or "drain".
	TakeOver(cause string, runs int)
	// Missed counts work found without a notification.
	Missed()
}

// noMeter observes nothing.
type noMeter struct{}

func (noMeter) Group(int, time.Duration, time.Duration) {}
func (noMeter) Claim(time.Duration)                     {}
func (noMeter) Said(time.Duration)                      {}
func (noMeter) TakeOver(string, int)                    {}
func (noMeter) Missed()                                 {}

// ErrCrowded means that too many runs wait for more to be accepted.
var ErrCrowded = errors.New("too many runs wait already; try again in a moment")

const (
	pendingFor  = 250 * time.Millisecond // how long a count of waiting runs is valid
	slowGroup   = 500 * time.Millisecond // a commit that takes longer is slow
	strainTime  = 10 * time.Second       // period over which commits are judged
	strainLeast = 5                      // slow commits in that period, or half of it spent on them, that count as strain
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

// strain detects slow commits: whether more than one in a hundred of the last seconds' commits was slow, and not by
// chance.
type strain struct {
	mu      sync.Mutex
	seconds [strainTime / time.Second]struct {
		at       int64 // its number
		all      int
		slow     int
		slowTime time.Duration
	}
	told bool // strain was reported
}

// add records a commit that ended at a moment. changed means that the result of heavy differs from then on.
func (s *strain) add(now time.Time, took time.Duration) (heavy, changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sec := &s.seconds[now.Unix()%int64(len(s.seconds))]
	if sec.at != now.Unix() {
		sec.at, sec.all, sec.slow, sec.slowTime = now.Unix(), 0, 0, 0
	}
	sec.all++
	if took > slowGroup {
		sec.slow++
		sec.slowTime += took
	}
	heavy = s.look(now)
	changed, s.told = heavy != s.told, heavy
	return heavy, changed
}

// heavy reports whether commits take too long.
func (s *strain) heavy(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.look(now)
}

func (s *strain) look(now time.Time) bool {
	all, slow, slowTime := 0, 0, time.Duration(0)
	for _, sec := range s.seconds {
		if now.Unix()-sec.at < int64(len(s.seconds)) {
			all, slow, slowTime = all+sec.all, slow+sec.slow, slowTime+sec.slowTime
		}
	}
	return slow*100 > all && (slow >= strainLeast || slowTime >= strainTime/2)
}

// Strained reports whether commits are so slow that this server claims no runs, leaving them to others. It is never
// true for a database with one server.
func (db *DB) Strained() bool { return db.Clustered() && db.w.strain.heavy(time.Now()) }

// meterOf returns the observer of a database; a file has none.
func meterOf(e engine, cfg Config) Meter {
	if _, file := e.(*sqliteEngine); file {
		return nil
	}
	if cfg.Meter == nil {
		return noMeter{}
	}
	return cfg.Meter
}

// measure records the duration of a group.
func (w *writer) measure(g *group, took time.Duration, err error) {
	if w.committed != nil {
		w.committed(took, err)
	}
	if w.meter == nil || err != nil {
		return
	}
	now, waited := time.Now(), time.Duration(0)
	if !g.since.IsZero() {
		waited = now.Sub(g.since)
	}
	w.meter.Group(g.items, took, waited)
	switch heavy, changed := w.strain.add(now, took); {
	case changed && heavy:
		w.log.Warn("commits take more than half a second: this server claims no runs until that is over", "took", took)
	case changed:
		w.log.Info("commits are quick again: this server claims runs")
	}
}

// PoolWait returns the total time queries have waited for a connection.
func (db *DB) PoolWait() time.Duration { return db.engine.reads().Stats().WaitDuration }

// Orphans counts the runs under way that no living server has.
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
