package remote

import (
	"context"
	"log/slog"
	"sync"

	"fawn/agent/runs/eventlog"
	"fawn/store"
)

// Logs are the logs of runs elsewhere that are read here.
type Logs struct {
	db     *store.DB
	logger *slog.Logger
	ctx    context.Context
	stop   context.CancelFunc
	work   sync.WaitGroup
	unhear func()

	mu        sync.Mutex
	closed    bool
	runs      map[string]*run
	followers map[int64]*follower // by server
}

// run is one that is read here.
type run struct {
	id, thread string
	ready      chan struct{} // closed when log or err is there
	log        *eventlog.Log
	err        error

	// What follows belongs to the follower.
	open frames
}

// New makes an empty set. The caller closes it.
func New(db *store.DB, logger *slog.Logger) *Logs {
	l := &Logs{db: db, logger: logger, runs: map[string]*run{}, followers: map[int64]*follower{}}
	l.ctx, l.stop = context.WithCancel(context.Background())
	l.unhear = db.Hear(store.WakeRuns, 0, l.changed)
	return l
}

// Close ends all followers and lets readers go.
func (l *Logs) Close() {
	if l == nil {
		return
	}
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.unhear()
	l.stop()
	l.work.Wait()
}

// Readers counts who waits for something of these logs.
func (l *Logs) Readers() (n int) {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.runs {
		select {
		case <-r.ready:
			if r.log != nil {
				n += r.log.Readers()
			}
		default:
		}
	}
	return n
}

// Find returns a run's row and its live log, which is here or at another server, nil when the run has ended. Nil
// Logs have no others.
func (l *Logs) Find(ctx context.Context, db *store.DB, id string,
	here func(id string) *eventlog.Log) (store.Run, *eventlog.Log, error) {
	for {
		log := here(id)
		row, err := db.Run(ctx, id)
		if err != nil || log != nil || l == nil || ended(row.Status) || row.Parent != "" {
			return row, log, err
		}
		log, err = l.Open(ctx, id, row.ThreadID)
		if err != nil || log != nil {
			return row, log, err
		}
	}
}

// Open returns the log of a run that has not ended, nil when it has.
func (l *Logs) Open(ctx context.Context, id, thread string) (*eventlog.Log, error) {
	for {
		at, err := l.db.Underway(ctx, id)
		if err != nil {
			return nil, err
		}
		if u, ok := at[id]; !ok || ended(u.Status) {
			return nil, nil
		}
		r, err := l.attach(id, thread, at[id].Node)
		if err != nil {
			return nil, err
		}
		select {
		case <-r.ready:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if r.err != nil || !r.log.Away() {
			return r.log, r.err
		}
	}
}

func (l *Logs) attach(id, thread string, server int64) (*run, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, eventlog.ErrClosed
	}
	if r := l.runs[id]; r != nil {
		return r, nil
	}
	r := &run{id: id, thread: thread, ready: make(chan struct{})}
	l.runs[id] = r
	f := l.followers[server]
	if f == nil {
		f = newFollower(l, server)
		l.followers[server] = f
		l.work.Go(f.follow)
	}
	f.fresh = append(f.fresh, r)
	f.poke()
	return r, nil
}

// changed lets followers look where runs are of which it was said that something has changed.
func (l *Logs) changed(w store.Wake) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.followers {
		f.changed(w)
	}
}
