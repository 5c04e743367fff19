package threads

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"fawn/agent"
	"fawn/agent/runs"
	"fawn/store"
)

// MostSides limits the models of a comparison; fewer than two aren't a comparison.
const MostSides = 3

// ErrTemporary refuses a comparison in a temporary thread, because its branches would stay.
var ErrTemporary = errors.New("models can't be compared in a temporary chat; keep it first")

// ErrSides means that a comparison doesn't name two or three different models.
var ErrSides = fmt.Errorf("a comparison takes two to %d different models", MostSides)

// Compare asks several models the same question, each in a branch of a thread, which itself is unchanged. For a thread
// that doesn't exist yet, each model starts a new one with copies of the uploaded files. title returns a branch's
// title. begin starts the run of one branch from input, which also names a thread that is new. If one doesn't start, the
// branches are removed again. Errors: ErrSides, runs.ErrBusy during a run, and those of begin.
func (c *Copier) Compare(ctx context.Context, m *runs.Manager, owner, thread string, models []string, input json.RawMessage,
	title func(model string) string,
	begin func(ctx context.Context, thread, model string, input json.RawMessage) error) (store.Comparison, error) {
	out := store.Comparison{ID: uuid.Must(uuid.NewV7()).String(), Owner: owner}
	seen := map[string]bool{}
	for _, model := range models {
		seen[model] = true
	}
	if len(models) < 2 || len(models) > MostSides || len(seen) != len(models) {
		return out, ErrSides
	}
	t, err := c.DB.Thread(ctx, thread)
	if err == nil && t.Temporary() {
		return out, ErrTemporary
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return out, err
	}
	if m.Active(thread) != "" {
		return out, runs.ErrBusy
	}
	for _, model := range models {
		id, isNew, err := c.side(ctx, thread, title(model))
		if err == nil {
			out.Sides = append(out.Sides, store.ComparisonSide{Thread: id, Model: model})
			in := input
			if isNew {
				in, err = named(input, title(model))
			}
			if err == nil {
				err = begin(ctx, id, model, in)
			}
		}
		if err != nil {
			return out, errors.Join(err, c.dropSides(context.WithoutCancel(ctx), m, out.Sides))
		}
	}
	return out, c.DB.AddComparison(ctx, out)
}

// named adds a title to the input of a run.
func named(input json.RawMessage, title string) (json.RawMessage, error) {
	if title == "" {
		return input, nil
	}
	var fields map[string]json.RawMessage
	err := json.Unmarshal(input, &fields)
	if err == nil {
		fields["title"], err = agent.Encode(title)
	}
	if err != nil {
		return nil, fmt.Errorf("name a branch: %w", err)
	}
	return agent.Encode(fields)
}

// side returns a branch of a thread at its end, or without a conversation the id of a new thread with its files.
func (c *Copier) side(ctx context.Context, thread, title string) (id string, isNew bool, err error) {
	t, err := c.DB.Thread(ctx, thread)
	if err == nil && t.Head != "" {
		snap, err := c.DB.Snapshot(ctx, thread, t.Head)
		if err != nil {
			return "", false, err
		}
		if n := len(snap.Messages); n > 0 {
			b, err := c.Branch(ctx, thread, []string{snap.Messages[n-1].ID}, title)
			return b.Thread.ID, false, err
		}
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return "", false, err
	}
	id = uuid.Must(uuid.NewV7()).String()
	if c.Files == nil {
		return id, true, nil
	}
	return id, true, c.Files(ctx, thread, id)
}

// dropSides removes the branches of a comparison that didn't begin.
func (c *Copier) dropSides(ctx context.Context, m *runs.Manager, sides []store.ComparisonSide) error {
	var errs []error
	for _, s := range sides {
		err := m.CancelAll(ctx, s.Thread)
		if err == nil {
			err = m.Exclusive(ctx, s.Thread, func(ctx context.Context) error { return m.RemoveThread(ctx, s.Thread) })
		}
		if errors.Is(err, runs.ErrNotFound) || errors.Is(err, store.ErrNotFound) {
			err = c.removeFiles(s.Thread)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
