package runs

import (
	"context"
	"slices"

	"fawn/agent"
	"fawn/agent/runs/resume"
	"fawn/store"
)

// callerOf returns the id of the message with the running tool calls, or "".
func callerOf(s *agent.State) string {
	for _, m := range slices.Backward(s.Messages) {
		if m.Type == agent.TypeAI {
			return m.ID
		}
	}
	return ""
}

// takeUp returns a child's progress before a crash, once, for the repeated call; nil without any.
func (m *Manager) takeUp(parent *entry, at resume.Place) *resume.Child {
	m.mu.Lock()
	defer m.mu.Unlock()
	if parent.goOn == nil {
		return nil
	}
	c := parent.goOn.children[at]
	delete(parent.goOn.children, at)
	return c
}

// childRows returns the children that were not resumed, with their usage.
func (r *resumption) childRows() []store.Run {
	if r == nil {
		return nil
	}
	return resume.Open(r.children)
}

// closeChildren stores children interrupted by a crash as ended if they won't be resumed. Failures are left to the next
// server.
func (m *Manager) closeChildren(ctx context.Context, list []store.Run) {
	for _, run := range list {
		run.Status, run.StopReason = Interrupted, StopOrphan
		if err := m.storeChild(ctx, &run); err != nil {
			m.logger.Error("couldn't store the end of a child run", "thread", run.ThreadID, "run", run.ID,
				"err", err)
		}
	}
}

// withoutChildren returns the open runs that occupy a line themselves. Their children resume or end with them; children
// of ended runs are closed here.
func (m *Manager) withoutChildren(ctx context.Context, open []store.Run) []store.Run {
	byID := map[string]store.Run{}
	for _, run := range open {
		byID[run.ID] = run
	}
	var roots, lost []store.Run
	for _, run := range open {
		top, known := run, true
		for top.Parent != "" && known {
			top, known = byID[top.Parent]
		}
		switch {
		case run.Parent == "":
			roots = append(roots, run)
		case !known:
			lost = append(lost, run)
		}
	}
	m.closeChildren(ctx, lost)
	return roots
}
