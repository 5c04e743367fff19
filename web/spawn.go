package web

import (
	"context"

	"fawn/agent"
	"fawn/agent/runs"
	"fawn/store"
)

// spawn runs a helper inside a call. The builder of agents is created before the manager of runs.
func (a *App) spawn(ctx context.Context, t *agent.Turn, task runs.Task) (store.Run, agent.State, error) {
	return a.engine.runs.Child(ctx, t, task)
}
