package eventlog

import (
	"context"
	"log/slog"
	"sync"

	"fawn/store"
)

// RemoteLogs are the logs of runs elsewhere that are read here.
type RemoteLogs struct {
	db     *store.DB
	logger *slog.Logger
	ctx    context.Context
	stop   context.CancelFunc
	work   sync.WaitGroup
	unhear func()

	mu        sync.Mutex
	closed    bool
	runs      map[string]*remoteRun
	followers map[int64]*follower // by server
}

// remoteRun is a run of another server with readers here.
type remoteRun struct {
	id, thread string
	ready      chan struct{} // closed once log or err is set
	log        *Log
	err        error

	// The fields below belong to the follower.
	open remoteFrames
}

// NewRemoteLogs returns an empty set. The caller closes it.
func NewRemoteLogs(db *store.DB, logger *slog.Logger) *RemoteLogs {
	l := &RemoteLogs{db: db, logger: logger, runs: map[string]*remoteRun{}, followers: map[int64]*follower{}}
	l.ctx, l.stop = context.WithCancel(context.Background())
	l.unhear = db.Hear(store.WakeRuns, 0, l.changed)
	return l
}

// Close ends all followers and releases readers.
func (l *RemoteLogs) Close() {
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

// Readers returns the number of readers waiting for these logs.
func (l *RemoteLogs) Readers() (n int) {
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

// Find returns a run's row and its live log, here or for another server, nil if the run has ended. Nil RemoteLogs
// find no others.
func (l *RemoteLogs) Find(ctx context.Context, db *store.DB, id string,
	here func(id string) *Log) (store.Run, *Log, error) {
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

// Open returns the log of an unended run, nil if it has ended.
func (l *RemoteLogs) Open(ctx context.Context, id, thread string) (*Log, error) {
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

func (l *RemoteLogs) attach(id, thread string, server int64) (*remoteRun, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, ErrClosed
	}
	if r := l.runs[id]; r != nil {
		return r, nil
	}
	r := &remoteRun{id: id, thread: thread, ready: make(chan struct{})}
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

// changed wakes followers of runs that reportedly changed.
func (l *RemoteLogs) changed(w store.Wake) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.followers {
		f.changed(w)
	}
}
