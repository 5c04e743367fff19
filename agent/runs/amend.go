package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"fawn/agent"
	"fawn/agent/runs/recorder"
	"fawn/store"
)

// idlePoll is the interval of checking whether another caller's exclusive write has ended.
const idlePoll = 20 * time.Millisecond

// Retitle gives a thread a better title once no run is active, unless its title is no longer from. The new
// checkpoint's source is "update"; the next node and the thread's place in lists stay. The title's cost is stored in
// the same commit, or separately if the title has to wait or isn't stored.
func (m *Manager) Retitle(ctx context.Context, thread, from, to string, cost ...store.Spending) error {
	for {
		put, err := m.titleRested(ctx, thread, from, to, cost)
		if err != nil {
			return errors.Join(err, m.putCost(ctx, cost))
		}
		if put {
			return nil
		}
		l, err := m.hold(ctx, thread, true)
		if err == nil {
			return m.retitle(ctx, l, thread, from, to, cost)
		}
		if lost := m.putCost(ctx, cost); lost != nil {
			m.logger.Warn("couldn't store the cost of a title", "thread", thread, "err", lost)
		}
		if cost = nil; !errors.Is(err, ErrBusy) {
			return err
		}
		if err := m.whenIdle(ctx, thread); err != nil {
			return err
		}
	}
}

// titleRested is Retitle for a thread whose last run has ended here a moment ago. It reads nothing: the commit checks that
// the thread is still there. put is false if it isn't, or if too little is known.
func (m *Manager) titleRested(ctx context.Context, thread, from, to string, cost []store.Spending) (put bool, err error) {
	l, gone, err := m.tryHold(thread, true)
	for ; l == nil && err == nil; l, gone, err = m.tryHold(thread, true) { // the run is just ending
		select {
		case <-gone:
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
	if err != nil { // Retitle waits for the work under way
		return false, nil
	}
	defer m.release(l, thread)
	at, known := m.rested.take(thread)
	if !known || at.title != from || l.unstored != nil {
		return false, nil
	}
	at.at.Meta, at.at.Source = json.RawMessage(`{}`), "update"
	rec, err := recorder.Open(ctx, m.outside(thread, at.at))
	if err != nil {
		return false, err
	}
	defer rec.Close()
	rec.Unmoved()
	rec.Spent(cost)
	patch := agent.State{Title: &to}
	err = rec.Step(ctx, agent.Step{Node: "update", Patch: patch, State: &patch, Next: at.next})
	if errors.Is(err, store.ErrConflict) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.announce(thread)
	return true, nil
}

// whenIdle waits briefly for the active run to end.
func (m *Manager) whenIdle(ctx context.Context, thread string) error {
	var done <-chan struct{}
	if e := m.atWork(thread); e != nil {
		done = e.done
	}
	wait := idlePoll
	if m.busyElsewhere(ctx, thread) {
		wait = lookEvery
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	var moment <-chan time.Time
	if done == nil {
		moment = timer.C
	}
	select {
	case <-done:
	case <-moment:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// retitle writes the title. Other callers wait for the thread meanwhile, as this is quick.
func (m *Manager) retitle(ctx context.Context, l *threadWork, thread, from, to string, cost []store.Spending) error {
	defer m.release(l, thread)
	put, err := m.putTitle(ctx, thread, from, to, cost)
	if errors.Is(err, store.ErrNotFound) { // putCost stores a cost, even while the server stops.
		err = nil
	}
	if !put {
		return errors.Join(err, m.putCost(ctx, cost))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.announce(thread)
	return nil
}

// putCost stores the cost of a title without it.
func (m *Manager) putCost(ctx context.Context, cost []store.Spending) error {
	if len(cost) == 0 {
		return nil
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), costTime)
	defer stop()
	return m.db.Commit(ctx, store.Batch{Spending: cost})
}

const (
	titleField = "title"
	costTime   = 10 * time.Second // to store the cost of a title, also while the server stops
)

// putTitle is [Manager.amend] for a title and its cost. It reads no other state of the thread.
func (m *Manager) putTitle(ctx context.Context, thread, from, to string, cost []store.Spending) (put bool, err error) {
	th, err := m.db.Standing(ctx, thread)
	if err != nil || th.Head == "" {
		return false, err
	}
	head, err := m.db.Checkpoint(ctx, thread, "", th.Head)
	if err != nil || head.Card.Fields[titleField] == 0 {
		return false, err
	}
	body, err := m.db.Field(ctx, thread, titleField, head.Card.Fields[titleField])
	if err != nil {
		return false, err
	}
	var now string
	if json.Unmarshal(body, &now) != nil || now != from {
		return false, nil
	}
	if th.Title != "" && th.Title != from { // a person named it during a run that didn't take the name over
		return false, nil
	}
	b := recorder.Base{Versions: th.Fields, MaxRow: th.Top, Next: th.Next, Card: head.Card, Head: head.ID,
		Newest: head.ID, Number: head.Step, Meta: json.RawMessage(`{}`), Source: "update", Shown: th.Title, Keeps: true}
	rec, err := recorder.Open(ctx, m.outside(thread, b))
	if err != nil {
		return false, err
	}
	defer rec.Close()
	rec.Spent(cost)
	patch := agent.State{Title: &to}
	err = rec.Step(ctx, agent.Step{Node: "update", Patch: patch, State: &patch, Next: head.Next})
	return err == nil, err
}

// Amend applies f to a thread's state and writes the result, unless it is empty, as a checkpoint of source "update"
// with the same next node. It returns the id of the head. ErrBusy while a run is active, ErrNotFound, and what f
// returns.
func (m *Manager) Amend(ctx context.Context, thread string,
	f func(context.Context, *agent.State) (agent.State, error)) (head string, err error) {
	err = m.Exclusive(ctx, thread, func(ctx context.Context) error {
		head, err = m.amend(ctx, thread, f)
		return err
	})
	return head, err
}

func (m *Manager) amend(ctx context.Context, thread string,
	f func(context.Context, *agent.State) (agent.State, error)) (string, error) {
	state, b, err := m.load(ctx, thread, "")
	if errors.Is(err, store.ErrNotFound) {
		return "", fmt.Errorf("thread %s: %w", thread, ErrNotFound)
	}
	if err != nil {
		return "", err
	}
	patch, err := f(ctx, &state)
	if err != nil || patch.Empty() {
		return b.Head, err
	}
	var next []string
	if b.Head != "" {
		cp, err := m.db.Checkpoint(ctx, thread, "", b.Head)
		if err != nil {
			return "", err
		}
		next = cp.Next
	}
	b.Meta, b.Source = json.RawMessage(`{}`), "update"
	rec, err := recorder.Open(ctx, m.outside(thread, b))
	if err != nil {
		return "", err
	}
	defer rec.Close()
	if err := state.Apply(patch); err != nil {
		return "", fmt.Errorf("%w: %v", ErrInput, err)
	}
	if err := rec.Step(ctx, agent.Step{Node: "update", Patch: patch, State: &state, Next: next}); err != nil {
		return "", err
	}
	return rec.Head(), nil
}
