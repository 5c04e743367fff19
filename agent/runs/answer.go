package runs

import (
	"context"
	"errors"

	"fawn/agent/runs/request"
	"fawn/store"
)

// checkAnswer refuses a run that answers a question that isn't open. During a run this can't be known yet, and is
// checked when the new run starts.
func (m *Manager) checkAnswer(ctx context.Context, e *entry) error {
	if !request.Resumes(e.cmd.Resume) {
		return nil
	}
	if _, err := m.db.Front(ctx, e.req.Thread); !errors.Is(err, store.ErrNotFound) {
		return err
	}
	base, err := e.req.Base()
	if err != nil {
		return err
	}
	state, b, err := m.load(ctx, e.req.Thread, base)
	if errors.Is(err, store.ErrNotFound) {
		return request.CheckResume(nil, &state, e.cmd.Resume)
	}
	if err != nil {
		return err
	}
	return request.CheckResume(m.from(ctx, e.req.Thread, b.Head, &state), &state, e.cmd.Resume)
}
