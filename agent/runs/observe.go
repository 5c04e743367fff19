package runs

import (
	"context"

	"fawn/agent"
	"fawn/store"
)

// observe notifies the observer of a run's start.
func (m *Manager) observe(ctx context.Context, run store.Run) (context.Context, func(store.Run)) {
	if m.observer == nil {
		return ctx, func(store.Run) {}
	}
	return m.observer.Run(ctx, run)
}

// calls returns the observer of the calls of runs, or nil.
func (m *Manager) calls() agent.Observer {
	if m.observer == nil {
		return nil
	}
	return m.observer
}

// Counts are the numbers of active runs, waiting runs, and readers here of runs on other servers.
type Counts struct{ Active, Waiting, Remote int }

// Counts counts the runs of this moment, without helpers.
func (m *Manager) Counts() (c Counts) {
	c.Remote = m.remote.Readers()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.runs {
		if e.stage.active() {
			c.Active++
		} else {
			c.Waiting++
		}
	}
	return c
}

// Webhooks receives a value whenever the database may contain new ones.
func (m *Manager) Webhooks() <-chan struct{} { return m.hooks }

// wakeWebhooks wakes the sender of webhooks.
func (m *Manager) wakeWebhooks() {
	select {
	case m.hooks <- struct{}{}:
	default: // one is pending already
	}
}
