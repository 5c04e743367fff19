package web

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"time"

	"fawn/agent/channels"
	"fawn/agent/config"
	"fawn/agent/threads"
	"fawn/sandbox/files"
	"fawn/store"
	"fawn/uploads"
)

const (
	pollEvery  = 5 * time.Second // polling interval of other servers' pending work, without notifications
	pollPause  = 500 * time.Millisecond
	trimEvery  = 10 * time.Minute
	sweepEvery = 24 * time.Hour
)

// leaderJobs returns the jobs that one server of a database does at a time.
func (a *App) leaderJobs(snap *config.Snapshot) []func(context.Context) {
	jobs := []func(context.Context){a.sweepUploads, a.engine.knowledge.Run, a.engine.memory.Run, a.retain,
		a.front.pages.EmptyTrash, a.front.api.TellWebhooks, a.deleteTemporary(a.data.db.Now())}
	if snap.File.Scheduler.Enabled {
		jobs = append(jobs, a.background.schedule.Run)
	}
	if a.data.trees != nil {
		jobs = append(jobs, a.data.trees.Clean)
	}
	if a.insight.inspect != nil {
		jobs = append(jobs, a.insight.inspect.Forget)
	}
	if a.data.db.Clustered() {
		jobs = append(jobs, a.runBots, a.pollOthers, a.trimAudit)
	}
	return jobs
}

// deleteTemporary deletes abandoned temporary chats. A single server begins with those from before its start.
func (a *App) deleteTemporary(started time.Time) func(context.Context) {
	if a.data.db.Clustered() {
		started = time.Time{}
	}
	return func(ctx context.Context) { threads.DeleteLeft(ctx, a.data.db, a.engine.runs, started, a.opts.Log) }
}

// resumeLost continues the work of lost servers.
func (a *App) resumeLost(ctx context.Context, servers []int64) {
	a.tools.documents.Resume(ctx, servers)
	a.background.schedule.Recover()
	if err := a.front.api.DeleteStateless(ctx); err != nil && ctx.Err() == nil {
		a.opts.Log.Warn("couldn't list threads of stateless runs", "err", err)
	}
	if err := a.data.db.ClearTail(ctx); err != nil && ctx.Err() == nil {
		a.opts.Log.Warn("couldn't clean up after a lost server", "err", err)
	}
}

// runBots runs the connections to chat apps, of which each bot has one.
func (a *App) runBots(ctx context.Context) {
	a.background.hasBots.Store(true)
	a.background.channels.Apply(a.channelSettings(a.config.Current()))
	<-ctx.Done()
	a.background.hasBots.Store(false)
	a.background.channels.Apply(a.channelSettings(a.config.Current()))
}

// pollOthers notifies services of work that other servers stored.
func (a *App) pollOthers(ctx context.Context) {
	heard := make(chan struct{}, 1)
	hear := func(store.Wake) {
		select {
		case heard <- struct{}{}:
		default: // not yet seen the last one
		}
	}
	defer a.data.db.Hear(store.WakeRuns, 0, hear)()
	defer a.data.db.Hear(store.WakeNote, 0, hear)()
	apps := a.chatApps()
	for told := map[string]string{}; ; {
		a.engine.memory.Wake()
		a.publishBots(ctx, told)
		if err := a.background.channels.Wake(ctx); err != nil && ctx.Err() == nil {
			a.opts.Log.Warn("couldn't list pending answers", "err", err)
		}
		if err := apps.Asked(ctx); err != nil && ctx.Err() == nil {
			a.opts.Log.Warn("couldn't process bot requests of other servers", "err", err)
		}
		timer := time.NewTimer(pollEvery)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		case <-heard:
			timer.Stop()
			select { // combine notifications in quick succession
			case <-time.After(pollPause):
			case <-ctx.Done():
				return
			}
		}
	}
}

// botSpace is the space in which the leader publishes the bots' state for other servers' pages.
const botSpace = "bot_status"

// publishBots stores changed states of bots.
func (a *App) publishBots(ctx context.Context, told map[string]string) {
	for _, p := range channels.Providers() {
		body := []byte(nil)
		if s, ok := a.background.channels.Status(p.Name); ok && a.background.hasBots.Load() {
			body, _ = json.Marshal(s) // texts and times
		}
		if was, known := told[p.Name]; known && was == string(body) {
			continue
		}
		err := a.data.db.Commit(ctx, store.Batch{KV: []store.KV{{Owner: store.Global, Space: botSpace, Key: p.Name,
			Body: body}}})
		if err == nil {
			told[p.Name] = string(body)
		} else if ctx.Err() == nil {
			a.opts.Log.Warn("couldn't publish bot status", "channel", p.Name, "err", err)
		}
	}
}

// remoteBot returns the state of another server's bot.
func (a *App) remoteBot(provider string) (s channels.Status, ok bool) {
	if a.background.hasBots.Load() {
		return s, false
	}
	ctx, cancel := context.WithTimeout(context.Background(), pollEvery)
	defer cancel()
	body, err := a.data.db.KV(ctx, store.Global, botSpace, provider)
	return s, err == nil && json.Unmarshal(body, &s) == nil
}

// trimAudit keeps the audit of several servers within its bounds.
func (a *App) trimAudit(ctx context.Context) {
	a.every(ctx, trimEvery, func() {
		if err := a.data.db.TrimAudit(ctx); err != nil && ctx.Err() == nil {
			a.opts.Log.Warn("couldn't delete old audit rows", "err", err)
		}
	})
}

// every calls f now and then again and again until ctx ends.
func (a *App) every(ctx context.Context, pause time.Duration, f func()) {
	for ticker := time.NewTicker(pause); ; {
		f()
		select {
		case <-ctx.Done():
			ticker.Stop()
			return
		case <-ticker.C:
		}
	}
}

// sweepUploads removes files of uploads interrupted by a crash, and registers documents that it left
// unregistered.
func (a *App) sweepUploads(ctx context.Context) {
	if !a.data.db.Clustered() {
		a.sweep(ctx, a.data.unused) // requests are answered meanwhile, and a file of theirs is younger
		return
	}
	// Others take uploads at this moment.
	a.every(ctx, sweepEvery, func() { a.sweep(ctx, time.Now().Add(-sweepEvery)) })
}

// probing is longer than trying a sandbox takes.
const probing = time.Minute

// removeProbe removes the folder of a test sandbox whose server was killed. Folders of current tests are younger.
func (a *App) removeProbe(dirs files.Dirs, thread string, before time.Time) error {
	folder, err := dirs.Folder(thread)
	if err != nil {
		return err
	}
	if info, err := os.Stat(folder); err != nil || !info.ModTime().Before(before.Add(-probing)) {
		return nil
	}
	if err := dirs.Remove(thread); err != nil {
		a.opts.Log.Warn("couldn't remove leftovers of a sandbox probe", "folder", folder, "err", err)
	}
	return nil
}

func (a *App) sweep(ctx context.Context, before time.Time) {
	dirs := a.data.dirs
	dirs.Keeper = nil // leftovers are in folders only
	each := func(thread string) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if files.Probe(thread) {
			return a.removeProbe(dirs, thread, before)
		}
		tree, err := dirs.Open(thread)
		if err != nil {
			return nil // not a thread with files
		}
		defer tree.Close()
		if _, err := uploads.Sweep(ctx, tree, before); err != nil && ctx.Err() == nil {
			a.opts.Log.Warn("couldn't remove leftover uploads", "thread", thread, "err", err)
		}
		if a.data.trees != nil || store.IsCollectionShelf(thread) { // it would get the files of every thread
			return nil
		}
		if err := a.tools.documents.Adopt(ctx, thread); err != nil && ctx.Err() == nil {
			a.opts.Log.Warn("couldn't list documents", "thread", thread, "err", err)
		}
		return nil
	}
	err := errors.Join(dirs.Threads(each), dirs.Shelves(each))
	if err != nil && ctx.Err() == nil && !errors.Is(err, os.ErrNotExist) {
		a.opts.Log.Warn("couldn't list leftover uploads", "dir", a.data.dirs.Above(), "err", err)
	}
}

// policy returns the retention settings for untouched threads.
func policy(r config.Retention) threads.Policy {
	return threads.Policy{MaxAge: r.MaxAge, KeepLatest: r.KeepLatest, MaxSize: r.MaxSize}
}

// usedDays is how long the usage of deleted threads is kept: limits are daily.
const usedDays = 48 * time.Hour

// retain applies the policy of the moment, and threads' own times to live, again and again.
func (a *App) retain(ctx context.Context) {
	for {
		wait := time.NewTimer(a.config.Current().File.Retention.SweepEvery)
		select {
		case <-ctx.Done():
			wait.Stop()
			return
		case <-wait.C:
		}
		if err := a.data.db.ForgetUsed(ctx, a.data.db.Now().Add(-usedDays)); err != nil && ctx.Err() == nil {
			a.opts.Log.Warn("couldn't remove old counts of usage", "err", err)
		}
		done, err := threads.Sweep(ctx, a.data.db, a.engine.runs, policy(a.config.Current().File.Retention), a.data.db.Now())
		if err != nil && ctx.Err() == nil {
			a.opts.Log.Error("couldn't delete expired threads", "err", err)
		}
		if done.Deleted+done.Pruned > 0 {
			a.opts.Log.Info("deleted expired threads", "deleted", done.Deleted, "history_dropped", done.Pruned,
				"bytes_freed", done.Freed)
		}
	}
}
