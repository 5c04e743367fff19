package web

import (
	"context"
	"time"

	"fawn/agent/config"
	"fawn/agent/threads"
)

// policy is what the configuration says about threads nobody touches.
func policy(r config.Retention) threads.Policy {
	return threads.Policy{MaxAge: r.MaxAge, KeepLatest: r.KeepLatest, MaxSize: r.MaxSize}
}

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
		done, err := threads.Sweep(ctx, a.db, a.runs, policy(a.config.Current().File.Retention), a.db.Now())
		if err != nil && ctx.Err() == nil {
			a.opts.Log.Error("couldn't delete expired threads", "err", err)
		}
		if done.Deleted+done.Pruned > 0 {
			a.opts.Log.Info("deleted expired threads", "deleted", done.Deleted, "history_dropped", done.Pruned,
				"bytes_freed", done.Freed)
		}
	}
}
