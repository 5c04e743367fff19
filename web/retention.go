package web

import (
	"context"
	"time"

	"fawn/agent/config"
	"fawn/agent/threads"
)

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
