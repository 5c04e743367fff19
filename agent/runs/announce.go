package runs

import (
	"encoding/json"

	"fawn/agent/runs/runevent"
)

// Announce shows a custom event, any JSON object, in the run that is under way in a
// thread, as if its agent had sent it. It tells whether there is such a run.
func (m *Manager) Announce(thread string, data json.RawMessage) bool {
	m.mu.Lock()
	var rec *recorder
	if l := m.threads[thread]; l != nil && l.active != nil {
		rec = l.active.rec
	}
	m.mu.Unlock()
	return rec != nil && rec.announce(data)
}

// attach lets announcements come in.
func (m *Manager) attach(e *entry, rec *recorder) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e.rec = rec
}

// announce does not wait for storage, so it may be called from anywhere.
func (r *recorder) announce(data json.RawMessage) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return false
	}
	r.named(runevent.Event{Kind: runevent.KindCustom, Data: data})
	return true
}
