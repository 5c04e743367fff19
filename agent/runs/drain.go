package runs

import (
	"context"
	"time"

	"fawn/store"
)

// drainEvery is the interval of checking whether all runs have been handed over.
const drainEvery = 20 * time.Millisecond

// Drain hands the active runs over to other servers, each at the end of its step, and rejects new ones. It returns when
// none is left, or ctx ends: [Manager.Close] then leaves the others unchanged. Runs started meanwhile go to other servers,
// too.
func (m *Manager) Drain(ctx context.Context) {
	if m.cluster == nil || m.mark {
		return
	}
	m.mu.Lock()
	m.cluster.draining = true
	m.db.Crowded(true)
	m.mu.Unlock()
	timer := time.NewTicker(drainEvery)
	defer timer.Stop()
	for m.Counts().Active > 0 && m.db.Writable() {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		case <-m.ctx.Done():
			return
		}
	}
}

// drains reports whether runs are being handed over.
func (m *Manager) drains() bool {
	if m.cluster == nil {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.cluster.draining
}

// passes is called when a step of a run other than its last is stored: everything shown is in rows. When this server
// stops, it leaves the run there for another one.
func (m *Manager) passes(e *entry) {
	if m.drains() {
		e.handed = true
		e.cancel(ErrShutdown)
	}
}

// handOver lets any server take over a run that stopped at the end of a step.
func (m *Manager) handOver(ctx context.Context, e *entry) {
	err := m.db.Commit(store.Patiently(ctx), store.Batch{ThreadID: e.run.ThreadID, Line: &store.Line{Leave: e.run.ID}})
	if err != nil { // otherwise it is taken over when this server is gone
		m.logger.Warn("couldn't hand over a run", "thread", e.run.ThreadID, "run", e.run.ID, "err", err)
		return
	}
	m.db.Say(store.WakeClaim, 0)
}
