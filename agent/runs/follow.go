package runs

import (
	"context"
	"errors"
	"fmt"

	"fawn/agent/runs/eventlog"
	"fawn/store"
)

// Follow opens a run for reading, live or not.
func (m *Manager) Follow(ctx context.Context, run string) (*eventlog.Reader, error) {
	log := m.log(run)
	r, err := m.db.Run(ctx, run)
	if errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("run %s: %w", run, ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	return eventlog.NewReader(m.db, r, log), nil
}

// FollowRow is Follow for a caller who has read the row, or got it from Start.
func (m *Manager) FollowRow(ctx context.Context, run store.Run) (*eventlog.Reader, error) {
	log := m.log(run.ID)
	if log == nil { // it is over, and its row says how by now
		return m.Follow(ctx, run.ID)
	}
	return eventlog.NewReader(m.db, run, log), nil
}
