package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"fawn/agent/runs/resume"
	"fawn/agent/runs/runevent"
	"fawn/store"
)

// DefaultSlots is the default number of concurrent runs on a server that shares its database.
const DefaultSlots = 200

// cluster is the part of a manager that works with other servers of the same database. The nil one has no others.
type cluster struct {
	slots int
	ready chan struct{} // one token: look now
	stop  []func()      // stop listening to other servers

	// guarded by Manager.mu
	working  int
	draining bool
	taking   map[string]bool // runs that are being taken over

	// used by attend
	strays map[string]bool // runs of this server that were unknown here at the last check
	kept   bool            // some waiting runs may not begin here yet, such as those near another server's sandbox
}

func newCluster(cfg Config) *cluster {
	c := &cluster{slots: cmp.Or(cfg.Slots, DefaultSlots), ready: make(chan struct{}, 1), taking: map[string]bool{},
		strays: map[string]bool{}}
	return c
}

// nudge wakes the manager.
func (c *cluster) nudge() {
	select {
	case c.ready <- struct{}{}:
	default: // one is pending already
	}
}

// occupy counts starting and ending runs. It notifies the database when there is no room for more. mu is held.
func (c *cluster) occupy(db *store.DB, n int) {
	if c == nil {
		return
	}
	full := c.working >= c.slots
	c.working += n
	db.Crowded(c.working >= c.slots || c.draining)
	if full && c.working < c.slots {
		c.nudge()
	}
}

// hearOthers wakes the manager after changes of other servers.
func (m *Manager) hearOthers() {
	look := func(store.Wake) { m.cluster.nudge() }
	m.cluster.stop = []func(){m.db.Hear(store.WakeClaim, 0, look), m.db.Hear(store.WakeWish, 0, look),
		m.db.Hear(store.WakeSpace, 0, func(w store.Wake) {
			if w.All || slices.Contains(w.IDs, store.PlanSpace) {
				m.cluster.nudge()
			}
		}), m.db.Hear(store.WakeRuns, 0, m.wakeReaders)}
}

// wakeReaders wakes readers of threads after a wake-up from another server.
func (m *Manager) wakeReaders(w store.Wake) {
	m.wakeWebhooks()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, thread := range w.IDs {
		m.announce(thread)
	}
	if w.All {
		for thread := range m.listeners {
			m.announce(thread)
		}
	}
}

// free returns the number of runs there is room for.
func (m *Manager) free() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cluster.draining {
		return 0
	}
	return max(0, m.cluster.slots-m.cluster.working-len(m.cluster.taking))
}

// pause waits briefly. Its error means that waiting is pointless.
func (m *Manager) pause(ctx context.Context, moment time.Duration) error {
	timer := time.NewTimer(moment)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-m.ctx.Done():
		return ErrClosed
	}
}

// releaseRun forgets a stored run that waits: the server that has its turn reads its row.
func (m *Manager) releaseRun(e *entry) {
	if m.cluster == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if e.become(stageReleased) {
		e.log.Leave()
		m.forget(e)
	}
}

// join starts cooperation with other servers, if there are any.
func (m *Manager) join(ctx context.Context) error {
	if err := m.takeOver(ctx, nil); err != nil { // finds the runs of dead servers
		return err
	}
	if err := m.freeThreads(ctx); err != nil {
		return err
	}
	alone, err := m.db.Alone(ctx)
	if err == nil && alone { // otherwise a server may be deleting threads
		err = m.removeRest(ctx)
	}
	if err == nil {
		err = m.pollCluster(ctx)
	}
	if err != nil {
		return err
	}
	m.expect()
	m.wg.Go(m.followCluster)
	return nil
}

// followCluster processes cluster work when it is notified.
func (m *Manager) followCluster() {
	var later <-chan time.Time
	for {
		select {
		case p := <-m.db.Pulses():
			if p.Due {
				m.expect()
			}
			if !p.Duties {
				clear(m.cluster.strays)
				continue
			}
		case <-m.cluster.ready:
		case <-later:
		case <-m.db.Evicted():
		case <-m.ctx.Done():
			return
		}
		if err := m.pollCluster(m.ctx); err != nil && m.ctx.Err() == nil {
			m.logger.Error("couldn't look for runs to claim", "err", err)
		}
		if later = nil; m.cluster.kept {
			later = time.After(store.BoxPatience + 10*time.Millisecond)
		}
	}
}

// pollCluster applies cancel requests, takes over runs of lost servers, and starts waiting runs while there is room.
func (m *Manager) pollCluster(ctx context.Context) error {
	if m.closing() {
		return nil
	}
	due, err := m.db.Duties(ctx)
	if err != nil {
		return err
	}
	err, m.cluster.kept = m.hear(ctx, due.Wishes), false
	if due.Plans {
		err = errors.Join(err, answerPlans(ctx, m.db, m.planHere))
	}
	for n := min(takeAtOnce, m.free()); due.Orphans && n > 0; n = min(takeAtOnce, m.free()) {
		list, failed := m.db.ClaimOrphans(ctx, n)
		if failed == nil && len(list) > 0 {
			failed = m.takeOver(ctx, list)
		}
		if failed != nil {
			return errors.Join(err, failed)
		}
		due.Orphans = len(list) == n
	}
	if n := m.free(); due.Waiting && n > 0 {
		threads, failed := m.db.ClaimWaiting(ctx, n)
		err, m.cluster.kept = errors.Join(err, failed), len(threads) < n
		for _, thread := range threads {
			m.startNext(thread)
		}
	}
	return errors.Join(err, m.startAssigned(ctx, due.Fronts))
}

// startAssigned starts assigned runs that haven't begun: those whose thread was held, and those assigned without a
// notification.
func (m *Manager) startAssigned(ctx context.Context, list []store.AtFront) error {
	strays, again := map[string]bool{}, []store.Orphan(nil)
	for _, f := range list {
		switch {
		case f.Status == Pending && m.atWork(f.Thread) == nil:
			m.startNext(f.Thread)
		case f.Status == Running && !m.has(f.Run) && !m.endUnstored(f.Thread) && !m.takes(f.Run):
			strays[f.Run] = true
			if m.cluster.strays[f.Run] {
				again = append(again, store.Orphan{Run: f.Run})
			}
		}
	}
	m.cluster.strays = strays
	if len(again) > 0 {
		return m.takeOver(ctx, again)
	}
	return nil
}

// takes marks a run as being taken over.
func (m *Manager) takes(run string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.cluster.taking[run]
}

// endOther ends a run that isn't active here.
func (m *Manager) endOther(ctx context.Context, run store.Run, wish string, wait bool) error {
	if m.cluster != nil && run.Status == Pending {
		done, err := m.endWaiting(ctx, run, wish == store.WishRollback)
		if done || err != nil {
			return err
		}
	}
	return m.endElsewhere(ctx, run, wish, wait)
}

// dropWaiting is endWaiting for a run by its id.
func (m *Manager) dropWaiting(ctx context.Context, id string, undo bool) error {
	run, err := m.db.Run(ctx, id)
	if errors.Is(err, store.ErrNotFound) || err == nil && run.Status != Pending {
		return nil
	}
	if err == nil {
		_, err = m.endWaiting(ctx, run, undo)
	}
	return err
}

// endWaiting ends a waiting run that no server is about to begin. It returns false otherwise.
func (m *Manager) endWaiting(ctx context.Context, run store.Run, undo bool) (done bool, err error) {
	if m.closing() {
		return false, ErrClosed
	}
	b := store.Batch{ThreadID: run.ThreadID, Line: &store.Line{AsHead: true, Idle: run.ID}}
	if undo {
		b.Delete = &store.Delete{Runs: []string{run.ID}}
	} else {
		run.Status, run.UpdatedAt = Interrupted, m.db.Now()
		b.Run, b.KV = &run, webhooks(run)
	}
	err = m.db.Commit(context.WithoutCancel(ctx), b)
	switch {
	case errors.Is(err, store.ErrConflict):
		return false, nil
	case errors.Is(err, store.ErrNotFound): // deleted meanwhile
		return true, nil
	case err != nil:
		return false, err
	}
	m.wakeWebhooks()
	m.startNext(run.ThreadID)
	return true, nil
}

// aloneInCluster acquires a thread exclusively among all servers, or releases it.
func (m *Manager) aloneInCluster(ctx context.Context, l *threadWork, thread string) error {
	err := m.db.HoldThread(ctx, thread)
	switch {
	case errors.Is(err, store.ErrNotFound): // the write reports it
		return nil
	case errors.Is(err, store.ErrBusy):
		m.release(l, thread)
		return fmt.Errorf("thread %s: %w", thread, ErrBusy)
	}
	l.write.row = true // also if unknown
	if err != nil {
		m.release(l, thread)
	}
	return err
}

// tryLetGo releases a thread for other servers.
func (m *Manager) tryLetGo(thread string) bool {
	err := m.db.LetGo(context.Background(), thread)
	if err != nil && !errors.Is(err, store.ErrFenced) && !errors.Is(err, store.ErrClosed) {
		m.logger.Error("couldn't release a thread", "thread", thread, "err", err)
		return false
	}
	m.db.Say(store.WakeClaim, 0)
	return true
}

// busyElsewhere reports whether another server has the run at the front of a thread.
func (m *Manager) busyElsewhere(ctx context.Context, thread string) bool {
	if m.cluster == nil {
		return false
	}
	front, err := m.db.Front(ctx, thread)
	return err == nil && front.Node != m.node
}

// cancelTaskElsewhere ends the child that works for a call at another server.
func (m *Manager) cancelTaskElsewhere(thread, call string) error {
	list, err := m.db.ChildrenAtWork(m.ctx, thread)
	if err != nil {
		return err
	}
	for _, run := range list {
		var at resume.Place
		if json.Unmarshal(run.Kwargs, &at) == nil && at.NS == runevent.Below("", call) {
			return m.endElsewhere(m.ctx, run, store.WishInterrupt, false)
		}
	}
	return fmt.Errorf("helper for call %.80s: %w", call, ErrNotFound)
}
