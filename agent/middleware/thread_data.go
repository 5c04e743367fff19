package middleware

import (
	"context"
	"fmt"

	"fawn/agent"
	"fawn/sandbox/files"
)

// ThreadData tells the state the virtual paths of the thread's folders, once, as they are
// the same in every thread. The folders are made now, or lazily by who first needs them.
func ThreadData(dirs files.Dirs, lazy bool) agent.Middleware {
	return agent.Middleware{
		Name: "thread_data",
		BeforeAgent: func(_ context.Context, t *agent.Turn) (agent.State, error) {
			if !lazy {
				if err := dirs.Create(t.ThreadID); err != nil {
					return agent.State{}, fmt.Errorf("create thread folders: %w", err)
				}
			}
			if t.State.ThreadData != nil {
				return agent.State{}, nil
			}
			return agent.State{ThreadData: &agent.ThreadData{Workspace: files.Workspace, Uploads: files.Uploads,
				Outputs: files.Outputs}}, nil
		},
	}
}
