package api

import (
	"context"
	"encoding/json"
	"errors"

	"fawn/agent/runs"
	"fawn/agent/runs/runevent"
	"fawn/store"
	"fawn/web/api/wire"
	"fawn/web/route"
)

// threadJSON is a thread on the wire.
type threadJSON struct {
	ID             string                      `json:"thread_id"`
	CreatedAt      string                      `json:"created_at"`
	UpdatedAt      string                      `json:"updated_at"`
	StateUpdatedAt string                      `json:"state_updated_at"`
	Metadata       json.RawMessage             `json:"metadata"`
	Status         string                      `json:"status"`
	Config         json.RawMessage             `json:"config"`
	Values         json.RawMessage             `json:"values"`
	Interrupts     map[string][]wire.Interrupt `json:"interrupts"`
	Error          *runevent.Failure           `json:"error"`
	Extracted      json.RawMessage             `json:"extracted,omitempty"`  // only in searches that request it
	Project        string                      `json:"project_id,omitempty"` // "" outside of projects
	TTL            *ttlJSON                    `json:"ttl,omitempty"`        // only if requested
}

// ttlJSON is the lifetime of an idle thread.
type ttlJSON struct {
	Strategy  string  `json:"strategy"`
	Minutes   float64 `json:"ttl_minutes"`
	ExpiresAt string  `json:"expires_at"`
}

// threadRow converts a thread's row; values is only the title.
func threadRow(t store.Thread) threadJSON {
	title := json.RawMessage("null")
	if t.Title != "" {
		if b, err := json.Marshal(t.Title); err == nil {
			title = b
		}
	}
	return threadJSON{ID: t.ID, CreatedAt: wire.Stamp(t.CreatedAt), UpdatedAt: wire.Stamp(t.UpdatedAt),
		StateUpdatedAt: wire.Stamp(t.StateUpdatedAt), Project: t.Project,
		Metadata: route.Object(t.Metadata), Status: t.Status, Config: route.Object(t.Config),
		Values: append(append(json.RawMessage(`{"title":`), title...), '}'), Interrupts: map[string][]wire.Interrupt{}}
}

// wholeThread adds data of the head checkpoint and the last run.
func (a *API) wholeThread(ctx context.Context, t store.Thread) (threadJSON, error) {
	out := threadRow(t)
	snap, err := a.Checkpoint(ctx, t, "")
	if err != nil {
		return out, err
	}
	out.Values = runs.Values(snap, true)
	for _, task := range wire.Tasks(snap, nil) {
		if len(task.Interrupts) > 0 {
			out.Interrupts[task.ID] = task.Interrupts
		}
	}
	out.Error, err = a.failure(ctx, t)
	return out, err
}

// failure explains why the last run of a thread failed, or nil if it did not.
func (a *API) failure(ctx context.Context, t store.Thread) (*runevent.Failure, error) {
	if t.Status != runs.ThreadError {
		return nil, nil
	}
	last, err := a.DB.Runs(ctx, t.ID, "", 1, 0)
	if err != nil || len(last) == 0 || last[0].Status != runs.Failed {
		return nil, err
	}
	return a.runFailure(ctx, last[0])
}

// runFailure reads the error event of a failed run; a run that failed before its first
// event only has the sentence in its row.
func (a *API) runFailure(ctx context.Context, r store.Run) (*runevent.Failure, error) {
	plain := &runevent.Failure{Error: "RunError", Name: "RunError", Message: r.Error}
	if r.LastSeq == 0 {
		return plain, nil
	}
	reader, err := a.Runs.Follow(ctx, r.ID)
	if errors.Is(err, runs.ErrNotFound) {
		return plain, nil
	}
	if err != nil {
		return nil, err
	}
	events, err := reader.Next(ctx, r.LastSeq-2)
	if err != nil {
		return nil, err
	}
	for _, ev := range events {
		var f runevent.Failure
		if ev.Kind == runevent.KindError && json.Unmarshal(ev.Data, &f) == nil {
			return &f, nil
		}
	}
	return plain, nil
}
