package threads

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"fawn/agent"
	"fawn/agent/runs"
	"fawn/agent/runs/recorder"
	"fawn/store"
)

// PastRun is a run of another server.
type PastRun struct {
	ID, Assistant, Status, Error string
	Model                        string // "" is not known
	Input, Output, Total, Calls  int    // tokens, and calls of the model
	Created, Updated             time.Time
}

// Restore creates a thread with the state in values, as one checkpoint of source "update", atomically. t has its id,
// owner, metadata and times. Unreadable fields are left out and returned by name. Errors: store.ErrExists if the id is
// taken, ErrInput for unreadable messages, ErrStorage.
func Restore(ctx context.Context, db *store.DB, t store.Thread,
	values map[string]json.RawMessage) (left []string, err error) {
	var state agent.State
	for name, raw := range values {
		one, err := agent.Encode(map[string]json.RawMessage{name: raw})
		if err != nil {
			return nil, err
		}
		patch, unknown, err := agent.ParsePatch(one)
		if err == nil {
			patch.Sandbox, patch.ThreadData = nil, nil // only the server sets them
			err = state.Apply(patch)
		}
		if err != nil && name == "messages" {
			return nil, fmt.Errorf("%w: %v", runs.ErrInput, err)
		}
		if err != nil || len(unknown) > 0 {
			left = append(left, name)
		}
	}
	for _, msg := range state.Messages {
		if msg.ID == "" {
			msg.ID = uuid.Must(uuid.NewV7()).String()
		}
	}
	var b store.Batch
	card := store.Card{Fields: map[string]int64{}}
	for i, msg := range state.Messages {
		body, err := agent.Encode(msg)
		if err != nil {
			return nil, fmt.Errorf("encode message %s: %w", msg.ID, err)
		}
		b.Messages = append(b.Messages, store.MessageRow{N: int64(i + 1), ID: msg.ID, Body: body})
	}
	if n := int64(len(b.Messages)); n > 0 {
		card.Messages = []store.Range{{From: 1, To: n}}
	}
	for _, f := range agent.Fields {
		if !f.Set(&state) {
			continue
		}
		body, err := f.Encode(&state)
		if err != nil {
			return nil, fmt.Errorf("encode field %s: %w", f.Name, err)
		}
		b.Fields = append(b.Fields, store.FieldRow{Name: f.Name, Version: 1, Body: body})
		card.Fields[f.Name] = 1
	}
	next := agent.Next(&state, "")
	cp := store.Checkpoint{ID: recorder.CheckpointID(""), Source: "update", Next: next, Meta: json.RawMessage(`{}`),
		Card: card, At: t.UpdatedAt}
	b.Checkpoints = []store.Checkpoint{cp}
	t.Head, t.Status = cp.ID, runs.Idle
	if t.StateUpdatedAt.IsZero() {
		t.StateUpdatedAt = t.UpdatedAt
	}
	if len(next) > 0 {
		t.Status = runs.ThreadInterrupted
	}
	if state.Title != nil {
		t.Title = *state.Title
	}
	b.Thread, b.NewThread = &t, true
	if err := db.Commit(ctx, b); errors.Is(err, store.ErrExists) {
		return nil, err
	} else if err != nil {
		return nil, fmt.Errorf("%w: %w", runs.ErrStorage, err)
	}
	return left, nil
}

// RestoreRun records another server's run of a thread, without events. A run that didn't end there has failed.
func RestoreRun(ctx context.Context, db *store.DB, thread, owner string, past PastRun) error {
	u := recorder.Usage{Input: past.Input, Output: past.Output, Total: past.Total, Calls: past.Calls}
	if past.Total > 0 {
		name := past.Model
		if name == "" {
			name = recorder.UnnamedModel
		}
		cost := recorder.ModelCost{Input: past.Input, Output: past.Output, Total: past.Total, Calls: past.Calls}
		u.ByModel = map[string]recorder.ModelCost{name: cost}
	}
	spent, err := agent.Encode(u)
	if err != nil {
		return err
	}
	run := store.Run{ID: past.ID, ThreadID: thread, AssistantID: past.Assistant, Owner: owner, Status: past.Status,
		Error: past.Error, Usage: spent, CreatedAt: past.Created, UpdatedAt: past.Updated}
	switch run.Status {
	case runs.Success, runs.Failed, runs.Timeout, runs.Interrupted:
	default:
		run.Status = runs.Failed
		run.Error = "The server stopped before this run ended"
	}
	if err := db.Commit(ctx, store.Batch{Run: &run}); err != nil {
		return fmt.Errorf("%w: %w", runs.ErrStorage, err)
	}
	return nil
}
