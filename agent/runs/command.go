package runs

import (
	"context"
	"fmt"
	"slices"

	"fawn/agent"
	"fawn/agent/runs/request"
)

// command carries out c on a thread that would go on with next, and returns where it does
// go on. Whatever it changes is a step of its own, so that a restart finds it.
func (r *recorder) command(ctx context.Context, t *agent.Turn, c request.Command, next []string) ([]string, error) {
	patch := c.Patch
	patch.Messages = slices.Clone(patch.Messages)
	if err := request.CheckResume(next, &t.State, c.Resume); err != nil {
		return next, err
	}
	if c.Resume != nil && slices.Contains(next, agent.NodeInterrupt) {
		if msg := request.AnswerTo(&t.State, c.Resume); msg != nil {
			patch.Messages = append(patch.Messages, msg)
		}
	}
	if patch.Empty() && c.Node == "" {
		return next, r.flush(ctx)
	}
	if err := fill(t, patch); err != nil {
		return next, err
	}
	switch {
	case c.Node == agent.NodeEnd:
		next = []string{}
	case c.Node == agent.NodeTools && !slices.Contains(agent.Next(&t.State, agent.NodeModel), agent.NodeTools):
		return next, fmt.Errorf("%w: command.goto: no tool call waits for its result", ErrInput)
	case c.Node != "":
		next = []string{c.Node}
	case len(patch.Messages) > 0:
		next = agent.Next(&t.State, agent.NodeInput)
	}
	source := "update"
	if len(patch.Messages) > 0 {
		source = "input"
	}
	return next, r.inputStep(ctx, t, patch, next, source)
}
