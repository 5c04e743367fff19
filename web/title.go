package web

import (
	"context"
	"errors"

	"fawn/agent/runs"
)

// retitle stores a thread's title that came after the end of its run.
func (a *App) retitle(ctx context.Context, thread, from, to string) {
	err := a.runs.Retitle(ctx, thread, from, to)
	if err != nil && ctx.Err() == nil && !errors.Is(err, runs.ErrClosed) {
		a.opts.Log.Warn("couldn't store a title; keeping the first words", "thread", thread, "err", err)
	}
}
