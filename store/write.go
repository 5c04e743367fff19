package store

import (
	"context"
	"database/sql"
	"fmt"
	"sync/atomic"

	"fawn/store/commit"
	"fawn/store/postgres"
	"fawn/store/wake"
)

// writer commits changes of rows and announces them.
type writer struct {
	*commit.Writer
	engine   commit.Engine
	node     int64 // this server among all of the database; constant
	noEvents bool
	meter    Meter         // nil for a file
	crowded  atomic.Bool   // see DB.Crowded
	listed   atomic.Uint64 // number of creations, deletions and restorations of threads
	wakes    *wake.Hub
	blank    blanks
	puts     []KV // values put by the job being written

	auditRows, auditBytes int64
	trims                 bool // DB.TrimAudit is in use
}

// job is a batch, or a function that writes rows in the transaction.
type job struct {
	lane  *commit.Lane
	batch *batch
	apply func(*writer) error // runs in the transaction
	then  func(*writer)       // runs after the commit
	calm  bool                // it joins the next commit, like deltas
}

// openWriter starts no goroutine yet: that is [commit.Writer.Run].
func openWriter(ctx context.Context, e commit.Engine, pg *postgres.Engine, dir string, cfg Config) (_ *writer, err error) {
	w := &writer{engine: e, node: e.Self(), noEvents: cfg.NoEvents, auditRows: AuditRows, auditBytes: AuditBytes,
		trims: cfg.URL != "" && cfg.Cluster}
	if pg != nil {
		w.meter = pg.Meter
	}
	w.Writer, err = commit.NewWriter(ctx, e, commit.Options{Dir: dir, Log: cfg.Log, NoEvents: cfg.NoEvents, Committed: cfg.Committed,
		Meter: w.meter, Watcher: w})
	if err != nil {
		return nil, err
	}
	if pg != nil {
		pg.Unreachable = w.FailWaiting
	}
	return w, nil
}

// do queues j as urgent and waits for it. If ctx ends first, it is unknown whether j takes effect; its
// apply no longer runs, as it may write to variables of the caller.
func (w *writer) do(ctx context.Context, j *job) error {
	c := &commit.Job{Lane: j.lane, Calm: j.calm}
	if j.batch != nil {
		c.Plan = &j.batch.Plan
	}
	if apply := j.apply; apply != nil {
		c.Apply = func() error { return apply(w) }
	}
	if then := j.then; then != nil {
		c.Then = func() { then(w) }
	}
	return w.Writer.Do(ctx, c)
}

func (w *writer) commitBatch(ctx context.Context, l *commit.Lane, b Batch) error {
	p, err := plan(b, w.setting())
	if err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	if err := w.do(ctx, &job{lane: l, batch: p, calm: p.calm()}); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// stmt returns the prepared form of a constant statement.
func (w *writer) stmt(query string) (*sql.Stmt, error) { return w.engine.Stmt(query) }

func (w *writer) exec(query string, args ...any) error {
	_, err := w.change(query, args...)
	return err
}

// change executes a statement and returns the number of changed rows.
func (w *writer) change(query string, args ...any) (int64, error) {
	cleanAll(args)
	return w.engine.Change(query, args)
}

// changeOr executes a statement, or returns none if it changes no rows.
func (w *writer) changeOr(none error, query string, args ...any) error {
	n, err := w.change(query, args...)
	if err == nil && n == 0 {
		return none
	}
	return err
}

// overwriting runs deletions that also erase the deleted values from the file.
func (w *writer) overwriting(do func() error) error { return w.engine.Overwriting(do) }

// Settled implements [Watcher].
func (w *writer) Settled(j *commit.Job) {
	if j.Plan == nil {
		w.blank.written(w.puts)
		w.puts = nil
		return
	}
	b, ok := j.Plan.Of.(*batch)
	if !ok {
		return
	}
	w.blank.written(b.KV)
	if b.Thread != nil || b.Removes || b.Patch != nil && (b.Patch.Metadata != nil || b.Patch.Merge != nil) {
		w.listed.Add(1)
	}
}

// Committed implements [Watcher].
func (w *writer) Committed(g *commit.Group) {
	w.wakes.Wrote()
	for _, j := range g.Jobs {
		if j.Plan == nil || j.Err != nil {
			continue
		}
		if b, ok := j.Plan.Of.(*batch); ok {
			w.announce(b)
		}
	}
}

// announce wakes the waiters for the changes of a batch.
func (w *writer) announce(p *batch) {
	say := func(kind WakeKind, ids ...string) { w.wakes.Say(wake.Topic{Kind: kind, Server: 0}, ids...) }
	if p.Thread != nil || p.Run != nil || p.Delete != nil || p.Line != nil ||
		p.Patch != nil && (p.Patch.Status != nil || p.Patch.Title != nil) {
		say(WakeRuns, p.ThreadID)
	}
	if len(p.Wishes) > 0 {
		ids := make([]string, len(p.Wishes))
		for i, wish := range p.Wishes {
			ids[i] = wish.Run
		}
		say(WakeWish, ids...)
	}
	for i, kv := range p.KV {
		if i == 0 || kv.Space != p.KV[i-1].Space {
			say(WakeSpace, kv.Space)
		}
	}
}

// Lane is one open run's ordered way into the writer: deltas of a growing answer go in by Append without waiting,
// finished steps by Commit. Its methods are safe for concurrent use; order is the order of the calls.
type Lane struct {
	*commit.Lane
	of *writer
}

// OpenLane opens a lane for a run of the thread. After each commit that includes this lane, the writer calls durable
// with the greatest committed number; durable must return at once and must not call the store.
func (db *DB) OpenLane(thread string, durable func(seq int64)) *Lane {
	return &Lane{db.w.OpenLane(thread, durable), db.w}
}

// Commit is DB.Commit, ordered after everything this lane has appended. If b has events, it folds
// deltas up to their greatest To: the tail no longer needs them, and durable is called with that
// number.
func (l *Lane) Commit(ctx context.Context, b Batch) error {
	return l.of.commitBatch(ctx, l.Lane, b)
}
