package runs

import (
	"context"
	"errors"
	"slices"

	"fawn/agent/runs/eventlog"
	"fawn/store"
)

// recentRuns limits how far back a [ThreadReader] looks for runs.
const recentRuns = 100

// nextRunWaiters wakes readers that wait for a thread's next run.
type nextRunWaiters struct {
	more    chan struct{} // closed when one begins
	waiting int
}

// ThreadReader iterates over the runs of one thread, including future ones, in order of execution. It belongs to one
// goroutine; closing it is not needed.
type ThreadReader struct {
	m      *Manager
	thread string
	after  int64
	seen   map[string]bool
	head   string // the last checkpoint reported to the reader
	title  string // title of the thread at that checkpoint
}

// FollowThread follows the runs with events past cursor after. Without a cursor (0) these are the unended runs, or else
// the last one. The thread need not exist yet.
func (m *Manager) FollowThread(ctx context.Context, thread string, after int64) (*ThreadReader, error) {
	r := &ThreadReader{m: m, thread: thread, after: after, seen: map[string]bool{}}
	if _, err := r.retitled(ctx); err != nil {
		return nil, err
	}
	list, err := m.db.Runs(ctx, thread, "", recentRuns, 0)
	if err != nil {
		return nil, err
	}
	open := slices.ContainsFunc(list, func(run store.Run) bool { return !Done(run.Status) })
	for i, run := range list { // the newest first
		old := Done(run.Status) && (open || i > 0)
		if after > 0 {
			old = Done(run.Status) && run.LastSeq <= after
		}
		r.seen[run.ID] = old
	}
	return r, nil
}

// Next waits for the next run and opens it for reading. Waiting runs don't count yet. The reader is
// nil if the thread's title was changed outside a run, see [ThreadReader.Title]. The error is
// ErrClosed if the manager is closed.
func (r *ThreadReader) Next(ctx context.Context) (*eventlog.Reader, error) {
	for {
		more, leave := r.m.listen(r.thread)
		run, err := r.find(ctx)
		renamed := false
		if err == nil && run == "" {
			renamed, err = r.retitled(ctx)
		}
		if err == nil && run == "" && !renamed {
			err = r.wait(ctx, more)
		}
		leave()
		if err != nil || renamed {
			return nil, err
		}
		if run == "" {
			continue
		}
		r.seen[run] = true
		reader, err := r.m.Follow(ctx, run)
		if !errors.Is(err, ErrNotFound) { // deleted meanwhile
			return reader, err
		}
	}
}

// wait waits for a notification. If other servers may have changed the thread, it also polls.
func (r *ThreadReader) wait(ctx context.Context, more <-chan struct{}) error {
	if r.m.cluster != nil {
		return r.m.waitWake(ctx, more)
	}
	select {
	case <-more:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-r.m.ctx.Done():
		return ErrClosed
	}
}

// Title returns the thread's title as last read.
func (r *ThreadReader) Title() string { return r.title }

// retitled reports whether something other than a run has given the thread another title since it was asked last.
func (r *ThreadReader) retitled(ctx context.Context) (bool, error) {
	t, err := r.m.db.Thread(ctx, r.thread)
	if errors.Is(err, store.ErrNotFound) || err == nil && t.Head == r.head {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	cp, err := r.m.db.Checkpoint(ctx, r.thread, "", t.Head)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return false, err
	}
	renamed := err == nil && cp.Run == "" && t.Title != r.title
	r.head, r.title = t.Head, t.Title
	return renamed, nil
}

// find returns the oldest finished run not seen yet, else the running one.
func (r *ThreadReader) find(ctx context.Context) (string, error) {
	active := r.m.Active(r.thread) // read before the rows, so that a run ending now is found there
	list, err := r.m.db.Runs(ctx, r.thread, "", recentRuns, 0)
	if err != nil {
		return "", err
	}
	var next store.Run
	for _, run := range list {
		if r.seen[run.ID] {
			continue
		}
		over := Done(run.Status) && run.LastSeq > 0
		if over && (next.FirstSeq == 0 || run.FirstSeq < next.FirstSeq) || run.ID == active && next.ID == "" {
			next = run
		}
	}
	return next.ID, nil
}

// listen returns a channel that is closed when the next run of the thread begins. leave must be called
// once.
func (m *Manager) listen(thread string) (more <-chan struct{}, leave func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.listeners[thread]
	if n == nil {
		n = &nextRunWaiters{more: make(chan struct{})}
		m.listeners[thread] = n
	}
	n.waiting++
	return n.more, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if n.waiting--; n.waiting == 0 && m.listeners[thread] == n {
			delete(m.listeners, thread)
		}
	}
}

// announce notifies a thread's followers of its next run or a new title. mu is held.
func (m *Manager) announce(thread string) {
	if n := m.listeners[thread]; n != nil {
		close(n.more)
		delete(m.listeners, thread)
	}
}
