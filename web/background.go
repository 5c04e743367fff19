package web

import (
	"context"
	"sync"
	"sync/atomic"

	"fawn/agent/channels"
	"fawn/agent/config"
	"fawn/agent/schedule"
	"fawn/web/leader"
)

// background groups the work of a server without a request: chat apps, scheduled tasks, jobs of the leader, and goroutines
// beside them.
type background struct {
	schedule *schedule.Scheduler
	channels *channels.Hub
	leader   *leader.Runner
	hasBots  atomic.Bool        // this server has the bots
	stop     context.CancelFunc // ends the goroutines
	work     sync.WaitGroup     // of the goroutines
}

// openBackground makes the scheduler and the chat apps, which begin with startBackground.
func (a *App) openBackground(snap *config.Snapshot) {
	plan := snap.File.Scheduler
	a.background.schedule = schedule.New(schedule.Config{DB: a.data.db, Runs: a.engine.runs, Log: a.opts.Log,
		MaxRuns: plan.MaxConcurrentRuns, Poll: plan.PollInterval, Shared: a.data.db.Clustered(), Plan: a.planResult,
		Deliver: func(ctx context.Context, run string) error { return a.background.channels.Deliver(ctx, run) }})
	a.background.channels = a.openChannels()
}

// startBackground starts the goroutines, then the jobs of the leader and the bots.
func (a *App) startBackground(snap *config.Snapshot) {
	d := &a.background
	ctx, stop := context.WithCancel(context.Background())
	d.stop = stop
	d.work.Go(func() {
		if err := a.config.Watch(ctx); err != nil && ctx.Err() == nil {
			a.opts.Log.Error("stopped watching the configuration", "err", err)
		}
	})
	if a.data.shared != nil {
		d.work.Go(func() { a.data.shared.Run(ctx) })
	}
	a.openConsole(ctx)
	if a.data.trees != nil {
		d.work.Go(func() { a.data.trees.Run(ctx) })
	}
	d.work.Go(func() { a.tools.places.Run(ctx) })
	d.work.Go(func() { a.tools.documents.Run(ctx) })
	d.work.Go(func() { a.followConfig(ctx, snap) })
	d.work.Go(func() { a.backUp(ctx) })
	jobs := a.leaderJobs(snap)
	if !a.data.db.Clustered() { // else runBots decides which server has the bots
		d.hasBots.Store(true)
	}
	d.leader = &leader.Runner{DB: a.data.db, Jobs: jobs, Gone: a.resumeLost, Log: a.opts.Log}
	d.channels.Apply(a.channelSettings(snap))
	d.leader.Start()
}

// closeChannels ends the bots, so that no message starts a run any more.
func (d *background) closeChannels() {
	if d.channels != nil {
		d.channels.Close()
	}
}

// close ends the goroutines, the leader's jobs and the scheduler, and waits for the goroutines, stopRuns' one included.
func (d *background) close() {
	if d.stop != nil {
		d.stop()
	}
	if d.leader != nil {
		d.leader.Stop()
	}
	if d.schedule != nil {
		d.schedule.Close()
	}
	d.work.Wait()
}
