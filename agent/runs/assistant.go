package runs

import (
	"context"
	"errors"

	"fawn/agent/runs/request"
	"fawn/store"
)

// withDefaults merges the options of a stored assistant below the request's. The built-in assistant has none.
func (m *Manager) withDefaults(ctx context.Context, req *Request) error {
	if request.BuiltIn(req.AssistantID) {
		return nil
	}
	a, err := m.db.Assistant(ctx, req.Owner, req.AssistantID)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return req.Underlay(a.Config, a.Context)
}
