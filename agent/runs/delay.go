package runs

import (
	"errors"
	"time"

	"fawn/store"
)

const (
	dueAtOnce = 64        // delayed runs queued before searching for more
	longSleep = time.Hour // limit of the timer's sleep; see attend for the runs of other servers
)

// dueAt returns the requested start of a run, the zero time for immediately.
func dueAt(req *Request, now time.Time) time.Time {
	wait, err := req.Delay()
	if err != nil || wait == 0 { // checked when the entry was created
		return time.Time{}
	}
	return now.Add(wait)
}

// expect notifies the timer of delayed runs. There is none before the first.
func (m *Manager) expect() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return
	}
	if m.delayed == nil {
		m.delayed = make(chan struct{}, 1)
		m.wg.Go(m.caretake)
	}
	select {
	case m.delayed <- struct{}{}:
	default: // one is pending already
	}
}

// caretake queues delayed runs when they are due.
func (m *Manager) caretake() {
	timer := time.NewTimer(longSleep)
	defer timer.Stop()
	for {
		select {
		case <-m.delayed:
		case <-timer.C:
		case <-m.ctx.Done():
			return
		}
		timer.Reset(m.queueDue())
	}
}

// queueDue queues delayed runs that are due and returns the time until the next. Their strategy is applied now, except
// "reject", which was applied when they were created. Until then the thread is free for other runs and writes.
func (m *Manager) queueDue() time.Duration {
	now := m.db.Now()
	list, next, err := m.db.DueRuns(m.ctx, now, dueAtOnce)
	for _, run := range list {
		strategy := run.Multitask
		if strategy == "reject" {
			strategy = ""
		}
		if lost := m.letIn(m.ctx, run, strategy); !errors.Is(lost, store.ErrNotFound) { // ended meanwhile
			err = errors.Join(err, lost)
		}
	}
	switch {
	case err != nil && m.ctx.Err() == nil:
		m.logger.Error("couldn't start delayed runs", "err", err)
		return lookAgain
	case next.IsZero():
		return longSleep
	}
	return min(longSleep, max(0, next.Sub(m.db.Now())))
}

// Delayed is a run that waits for its time.
type Delayed struct {
	Run store.Run
	At  time.Time
}

// Delayed returns the delayed runs of a thread in order of due time.
func (m *Manager) Delayed(thread string) []Delayed {
	list, err := m.db.DelayedRuns(m.ctx, thread)
	if err != nil && !m.closing() {
		m.logger.Error("couldn't read a thread's delayed runs", "thread", thread, "err", err)
	}
	var out []Delayed
	for _, run := range list {
		out = append(out, Delayed{run, run.DueAt})
	}
	return out
}
