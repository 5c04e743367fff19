package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"fawn/agent"
	"fawn/agent/runs/recorder"
	"fawn/agent/runs/request"
	"fawn/store"
)

// Update is a write to a thread's state from outside a run.
type Update struct {
	Values     json.RawMessage // an object, or a list of them and of pairs; null or absent: no write
	AsNode     string
	Checkpoint string // base; "" is the head
	Strict     bool   // unknown fields are an error

	// Metadata is merged over that of the base, for the new checkpoint.
	Metadata map[string]json.RawMessage
}

// merged merges members into a JSON object, replacing those with the same names.
func merged(raw json.RawMessage, more map[string]json.RawMessage) (json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal(object(raw), &all); err != nil {
		return nil, err
	}
	maps.Copy(all, more)
	return agent.Encode(all)
}

// UpdateState applies u through the reducers and makes the result the thread's head. The new
// checkpoint's source is "update", or "fork" if nothing is written. ErrBusy while a run is active.
func (m *Manager) UpdateState(ctx context.Context, thread string, u Update) (store.Checkpoint, error) {
	var cp store.Checkpoint
	p, unknown, err := request.ParseValues(u.Values)
	if err != nil {
		return cp, fmt.Errorf("%w: values.%v", ErrInput, err)
	}
	if len(unknown) > 0 && u.Strict {
		return cp, fmt.Errorf("%w: unknown thread-state field(s): %v", ErrInput, unknown)
	}
	p.Sandbox, p.ThreadData = nil, nil // only the server sets them
	err = m.Exclusive(ctx, thread, func(ctx context.Context) error {
		cp, err = m.update(ctx, thread, u, p)
		return err
	})
	if errors.Is(err, ErrBusy) && u.editsPlan(p) {
		return m.updatePlan(ctx, thread, p.Todos)
	}
	return cp, err
}

// editsPlan reports whether an update changes nothing but the plan, which is possible while a run works. Strict callers
// are told that one does.
func (u Update) editsPlan(p agent.State) bool {
	only := agent.State{Todos: p.Todos}
	return !u.Strict && u.Checkpoint == "" && u.AsNode == "" && u.Metadata == nil && p.Todos != nil &&
		reflect.DeepEqual(p, only)
}

// updatePlan replaces the plan, and returns the head from which the run works.
func (m *Manager) updatePlan(ctx context.Context, thread string, list []agent.Todo) (store.Checkpoint, error) {
	_, err := m.EditPlan(ctx, thread, func([]agent.Todo) ([]agent.Todo, error) { return slices.Clone(list), nil })
	if err != nil {
		return store.Checkpoint{}, err
	}
	return m.db.Checkpoint(ctx, thread, "", "")
}

func (m *Manager) update(ctx context.Context, thread string, u Update, p agent.State) (store.Checkpoint, error) {
	var none store.Checkpoint
	state, b, err := m.load(ctx, thread, u.Checkpoint)
	if errors.Is(err, store.ErrNotFound) {
		return none, fmt.Errorf("thread %s: %w", thread, ErrNotFound)
	}
	if err != nil {
		return none, err
	}
	b.Meta = json.RawMessage(`{}`)
	b.Source = "update"
	next, fork := []string(nil), p.Empty()
	old, err := m.db.Checkpoint(ctx, thread, "", b.Head)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return none, err
	}
	if fork {
		b.Source = "fork"
	}
	stays := len(p.Messages) == 0 && u.AsNode == "" // keeps the thread's position: a title doesn't change it
	if stays {
		next = old.Next
	}
	if u.Metadata != nil {
		if b.Meta, err = merged(old.Meta, u.Metadata); err != nil {
			return none, err
		}
	}
	cfg := m.outside(thread, b)
	cfg.Files = m.files // files are restored with the state
	rec, err := recorder.Open(ctx, cfg)
	if err != nil {
		return none, err
	}
	defer rec.Close()
	for i, msg := range p.Messages {
		if msg.ID == "" {
			c := *msg
			c.ID = newMessageID()
			p.Messages[i] = &c
		}
	}
	if err := state.Apply(p); err != nil {
		return none, fmt.Errorf("%w: %v", ErrInput, err)
	}
	if !stays && !(fork && u.AsNode == agent.NodeEnd) { // nothing, written by the end: the thread is complete
		next = agent.Next(&state, u.AsNode)
	}
	status := Idle
	if len(next) > 0 {
		status = ThreadInterrupted
	}
	rec.With(&store.ThreadPatch{Status: &status, Touch: true})
	if err := rec.Step(ctx, agent.Step{Node: "update", Patch: p, State: &state, Next: next}); err != nil {
		return none, err
	}
	return m.db.Checkpoint(ctx, thread, "", rec.Head())
}
