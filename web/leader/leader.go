// Package leader elects one of the servers that share a database and runs the jobs that must run once for all of
// them: schedules, webhooks, retention, bots. A single server is always the leader.
package leader

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"fawn/store"
)

const (
	name      = "caretaker" // name of the row, known to older servers too
	lookEvery = time.Second // interval of checking for the duty, and for dead servers
	leaveTime = 2 * time.Second
)

// Runner runs jobs while this server is the leader.
type Runner struct {
	DB   *store.DB
	Jobs []func(ctx context.Context) // each until ctx ends
	// Gone is called when the duty begins, and whenever another server is gone, with the remaining ones. It resumes
	// jobs that no server continues. nil for none.
	Gone func(ctx context.Context, servers []int64)
	Log  *slog.Logger

	begin sync.Once
	stop  context.CancelFunc
	done  chan struct{}
}

// Start starts competing for the duty.
func (r *Runner) Start() {
	r.begin.Do(func() {
		ctx, stop := context.WithCancel(context.Background())
		r.stop, r.done = stop, make(chan struct{})
		go func() {
			defer close(r.done)
			if r.DB.Clustered() {
				r.seek(ctx)
			} else {
				r.work(ctx)
			}
		}()
	})
}

// Stop ends the jobs, waits for them and releases the duty. It is idempotent.
func (r *Runner) Stop() {
	r.begin.Do(func() {}) // never starts any more
	if r.stop != nil {
		r.stop()
		<-r.done
	}
}

// work runs the jobs until ctx ends.
func (r *Runner) work(ctx context.Context) {
	var jobs sync.WaitGroup
	for _, job := range r.Jobs {
		jobs.Go(func() { job(ctx) })
	}
	jobs.Wait()
}

// seek takes the duty once it is free. Its holder loses it only with the right to write, which ends the process.
func (r *Runner) seek(ctx context.Context) {
	for {
		mine, err := r.DB.TakeDuty(ctx, name)
		if mine {
			break
		}
		if err != nil && ctx.Err() == nil && r.DB.Writable() {
			r.Log.Warn("leader election failed", "err", err)
		}
		if !pause(ctx) {
			return
		}
	}
	r.Log.Info("became leader", "node", r.DB.Self())
	var watching sync.WaitGroup
	watching.Go(func() { r.watch(ctx) })
	r.work(ctx)
	watching.Wait()
	leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
	defer cancel()
	if err := r.DB.LeaveDuty(leaving, name); err != nil && r.DB.Writable() {
		r.Log.Warn("couldn't release leadership; it expires with this server", "err", err)
	}
}

// watch detects dead servers.
func (r *Runner) watch(ctx context.Context) {
	if r.Gone == nil {
		return
	}
	for known := []int64(nil); ; {
		now, err := r.DB.ServersSeen(ctx)
		left := func(id int64) bool { return !slices.Contains(now, id) }
		if err == nil && (known == nil || slices.ContainsFunc(known, left)) {
			if now, err = r.DB.Servers(ctx); err == nil { // including those added since
				r.Gone(ctx, now)
			}
		}
		switch {
		case err == nil:
			known = now
		case ctx.Err() == nil && r.DB.Writable():
			r.Log.Warn("couldn't list servers", "err", err)
		}
		if !pause(ctx) {
			return
		}
	}
}

// pause waits and returns false if ctx ended.
func pause(ctx context.Context) bool {
	timer := time.NewTimer(lookEvery*4/5 + rand.N(lookEvery*2/5))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
