package runs

import (
	"encoding/json"

	"fawn/agent/runs/recorder"
)

// Announce shows a custom event, any JSON object, in a thread's active run, as if its agent had sent it. It reports
// whether there is such a run.
func (m *Manager) Announce(thread string, data json.RawMessage) bool {
	m.mu.Lock()
	var rec *recorder.Recorder
	if l := m.threads[thread]; l != nil && l.active != nil {
		rec = l.active.rec
	}
	m.mu.Unlock()
	return rec != nil && rec.Announce(data)
}

// attach accepts announcements from now on.
func (m *Manager) attach(e *entry, rec *recorder.Recorder) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e.rec = rec
}
