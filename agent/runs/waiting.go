package runs

import (
	"cmp"
	"fmt"
	"slices"

	"fawn/store"
)

// A held run waits aside, like one that is to start later: it blocks nothing. It gets into
// line when the run before it has ended well; when that one fails, is cancelled or asks, it
// goes on waiting until somebody releases it. Its row says that it is held, so that it waits
// after a restart, too, and one that was released does not.

// holdBack sets a run aside that came while another one is at work or waits; false when there
// is none, and it may simply start.
func (m *Manager) holdBack(e *entry) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.threads[e.run.ThreadID]
	if m.closed || l == nil || !l.busy() {
		return false
	}
	e.become(stageHeld)
	e.run.Held = true
	m.runs[e.run.ID] = e
	return true
}

// holds says that a run which was stored before a restart was held, and is again.
func (e *entry) holds() bool { return e.run.Status == Pending && e.run.Held }

// waiting are the held runs of a thread, oldest first. mu is held.
func (m *Manager) waiting(thread string) []*entry {
	var list []*entry
	for _, e := range m.runs {
		if e.stage == stageHeld && e.run.ThreadID == thread {
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b *entry) int {
		return cmp.Or(a.run.CreatedAt.Compare(b.run.CreatedAt), cmp.Compare(a.run.ID, b.run.ID))
	})
	return list
}

// promote puts the first held run into line behind one that ended well.
func (m *Manager) promote(l *lineup, ended *entry, rest string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ended.run.Status != Success || rest != Idle || len(l.queue) > 0 || m.closed {
		return
	}
	if list := m.waiting(ended.run.ThreadID); len(list) > 0 {
		l.admit(list[0])
	}
}

// Waiting returns the held runs of a thread, in the order they came.
func (m *Manager) Waiting(thread string) []store.Run {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []store.Run
	for _, e := range m.waiting(thread) {
		out = append(out, e.run)
	}
	return out
}

// Release puts a held run into line, behind what is at work. ErrNotFound when it does not
// wait any more.
func (m *Manager) Release(thread, run string) error {
	if err := m.letIn(thread, run); err != nil {
		return err
	}
	m.wish(thread, store.Wish{Run: run, Wish: store.WishRelease})
	return nil
}

// letIn puts a held run into line.
func (m *Manager) letIn(thread, run string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.runs[run]
	if e == nil || e.stage != stageHeld || e.run.ThreadID != thread {
		return fmt.Errorf("run %s: %w", run, ErrNotFound)
	}
	if m.closed {
		return ErrClosed
	}
	m.line(thread).admit(e)
	m.dispatch(thread)
	return nil
}
