package runs

import (
	"context"
	"errors"
	"fmt"

	"fawn/agent/runs/eventlog"
	"fawn/store"
)

// Follow opens a run for reading, live or not, wherever it is active.
func (m *Manager) Follow(ctx context.Context, run string) (*eventlog.Reader, error) {
	r, log, err := m.locate(ctx, run)
	if err != nil {
		return nil, err
	}
	return m.reader(r, log), nil
}

// FollowRow is Follow for a row that was already read.
func (m *Manager) FollowRow(ctx context.Context, run store.Run) (*eventlog.Reader, error) {
	if log := m.log(run.ID); log != nil {
		return m.reader(run, log), nil
	}
	return m.Follow(ctx, run.ID) // it has ended, as its row says, or is active elsewhere
}

func (m *Manager) reader(run store.Run, log *eventlog.Log) *eventlog.Reader {
	if m.remote == nil {
		return eventlog.NewReader(m.db, run, log)
	}
	return eventlog.NewOpener(m.db, run, log, m.locate)
}

// locate finds a run's row and its live log, here or at the server that has it.
func (m *Manager) locate(ctx context.Context, run string) (r store.Run, log *eventlog.Log, err error) {
	for look := range 3 {
		r, log, err = m.remote.Find(ctx, m.db, run, m.log)
		if err != nil || Done(r.Status) || log != nil && !m.replaced(r.ID, log) {
			break
		}
		if (look > 0 || r.Parent != "") && m.ended(&r) {
			break
		}
		err = ErrClosed // begun, moved or ended between the reads of log and row
	}
	switch {
	case errors.Is(err, store.ErrNotFound):
		err = fmt.Errorf("run %s: %w", run, ErrNotFound)
	case err != nil && ctx.Err() == nil && !m.db.Writable(): // its connections are closed
		err = ErrClosed
	}
	return r, log, err
}

// replaced reports whether the log is of a start that was given up.
func (m *Manager) replaced(run string, log *eventlog.Log) bool {
	return m.cluster == nil && m.log(run) != log
}

// ended reports whether a run with an open row has ended here without being stored, and sets the row to its end where that
// is known. If another server has taken or is about to take over the database, perhaps unnoticed here, the run continues
// there. Children have no separate logs.
func (m *Manager) ended(r *store.Run) bool {
	if m.closing() || !m.db.Writable() {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if l := m.threads[r.ThreadID]; l != nil && l.unstored != nil && l.unstored.ID == r.ID {
		r.Status, r.StopReason, r.Error = l.unstored.Status, l.unstored.StopReason, l.unstored.Error
		return true
	}
	return m.cluster != nil || r.Parent != "" || !m.db.Shared()
}
