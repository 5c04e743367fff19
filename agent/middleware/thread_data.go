package middleware

import (
	"context"
	"fmt"

	"fawn/agent"
	"fawn/sandbox/files"
)

// ThreadData writes the virtual paths of the thread's folders to the state, once; they are the same in every thread.
// The folders are created now, or lazily at first use.
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
