package recorder

import (
	"context"
	"fmt"
	"slices"

	"fawn/agent"
	"fawn/agent/runs/request"
	"fawn/store"
)

// Command carries out c on a thread that would continue with next, and returns the node it continues with instead. Its
// changes are a separate step, so a restart finds them.
func (r *Recorder) Command(ctx context.Context, t *agent.Turn, c request.Command, next []string) ([]string, error) {
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
	if err := Fill(t, patch); err != nil {
		return next, err
	}
	switch {
	case c.Node == agent.NodeEnd:
		next = []string{}
	case c.Node == agent.NodeTools && !slices.Contains(agent.Next(&t.State, agent.NodeModel), agent.NodeTools):
		return next, fmt.Errorf("%w: command.goto: no tool call waits for its result", request.ErrInput)
	case c.Node != "":
		next = []string{c.Node}
	case len(patch.Messages) > 0:
		next = agent.Next(&t.State, agent.NodeInput)
	}
	source := "update"
	if len(patch.Messages) > 0 {
		source = "input"
	}
	return next, r.Step(ctx, r.inputStep(t, patch, next, source))
}

// Input applies the run's input as its first step. The returned function stores it and must be called. The agent may
// begin meanwhile: its events wait until the input is stored, and are refused if that fails.
func (r *Recorder) Input(ctx context.Context, t *agent.Turn, p agent.State) (stored func() error, err error) {
	if err := Fill(t, p); err != nil {
		return nil, err
	}
	next := agent.Next(&t.State, agent.NodeInput)
	if len(next) == 0 && len(t.State.Messages) > 0 {
		next = []string{agent.NodeModel}
	}
	step, err := r.open(ctx, r.inputStep(t, p, next, "input"))
	if err != nil {
		return nil, err
	}
	return func() error {
		defer r.mu.Unlock()
		err := r.store(ctx, step)
		if err != nil {
			r.lost = err
			r.cancel(err)
		}
		return err
	}, nil
}

// Fill assigns ids to the new messages of a patch and applies it.
func Fill(t *agent.Turn, p agent.State) error {
	for i, msg := range p.Messages {
		if msg.ID == "" {
			c := *msg
			c.ID = t.NewID()
			p.Messages[i] = &c
		}
	}
	if err := t.State.Apply(p); err != nil {
		return fmt.Errorf("%w: %v", request.ErrInput, err)
	}
	return nil
}

// inputStep returns the run's input as a step with a checkpoint of a source. A thread's very first input gets an empty
// checkpoint before it, so that every message has a parent without it to go back to, unless its run leaves only one.
func (r *Recorder) inputStep(t *agent.Turn, p agent.State, next []string, source string) agent.Step {
	if r.at.Head == "" && !r.one {
		id := CheckpointID(r.at.Newest)
		r.at.Number++
		var card store.Card
		if r.files != nil {
			card.Tree = store.NoTree
		}
		r.extra.Checkpoints = append(r.extra.Checkpoints,
			store.Checkpoint{ID: id, Thread: r.thread, Run: r.run, Step: r.at.Number,
				Source: "input", Next: []string{agent.NodeStart}, Meta: r.at.Meta, Card: card,
				At: r.db.Now()})
		r.at.Head, r.at.Newest = id, id
	}
	r.at.Source = source
	return agent.Step{Node: agent.NodeInput, Patch: p, State: &t.State, Next: next, Last: !RunsNext(next)}
}

// RunsNext reports whether a run continues with next: not after a complete answer, and not during an open question.
func RunsNext(next []string) bool { return len(next) > 0 && next[0] != agent.NodeInterrupt }
