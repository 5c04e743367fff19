package runs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"fawn/store"
)

// laterThan tells whether a run whose row is stored is still to wait.
func laterThan(now time.Time, run store.Run, req *Request) bool {
	wait, err := req.Delay()
	return err == nil && run.CreatedAt.Add(wait).After(now)
}

// setAside keeps a run for later, in one of the stages aside. Until it is due or released it
// stands in no line: its thread is free for other runs and for writes.
func (m *Manager) setAside(e *entry, to stage, strategy string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	if l := m.threads[e.run.ThreadID]; l != nil && l.busy() && strategy == "reject" {
		return fmt.Errorf("thread %s: %w", e.run.ThreadID, ErrBusy)
	}
	e.become(to)
	m.runs[e.run.ID] = e
	return nil
}

// arm starts the clock of a run that was set aside and whose row is stored. mu is held.
func (m *Manager) arm(e *entry) {
	if e.stage != stageDelayed || m.closed {
		return
	}
	wait, err := e.req.Delay()
	if err != nil { // checked when the entry was made
		wait = 0
	}
	e.clock = time.AfterFunc(time.Until(e.run.CreatedAt.Add(wait)), func() { m.due(e) })
}

// due puts a run into line whose time has come. What it refuses or ends is decided now, but
// for "reject", which was decided when it was made.
func (m *Manager) due(e *entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed || e.stage != stageDelayed {
		return
	}
	out := m.enter(m.line(e.run.ThreadID), e, e.run.Multitask)
	m.dispatch(e.run.ThreadID)
	if out.wish == "" {
		return
	}
	m.wg.Go(func() {
		m.wish(e.run.ThreadID, out.wishes()...)
		for _, q := range out.queued {
			if err := m.drop(context.Background(), q); err != nil {
				m.logger.Error("an interrupted run could not be stored", "thread", q.run.ThreadID, "run", q.run.ID,
					"err", err)
			}
		}
	})
}

// stopClock keeps a run that waits for its time from becoming due. mu is held.
func (e *entry) stopClock() {
	if e.clock != nil {
		e.clock.Stop()
	}
}

// Delayed is a run that waits for its time.
type Delayed struct {
	Run store.Run
	At  time.Time
}

// Delayed returns the runs of a thread that are to start later, the next one first.
func (m *Manager) Delayed(thread string) []Delayed {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []Delayed
	for _, e := range m.runs {
		if e.stage != stageDelayed || e.run.ThreadID != thread {
			continue
		}
		if wait, err := e.req.Delay(); err == nil {
			out = append(out, Delayed{e.run, e.run.CreatedAt.Add(wait)})
		}
	}
	slices.SortFunc(out, func(a, b Delayed) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Run.ID, b.Run.ID)) })
	return out
}
