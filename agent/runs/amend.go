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

// idlePoll is how often an exclusive write of somebody else is looked at again.
const idlePoll = 20 * time.Millisecond

// Retitle gives a thread a better title once nothing runs in it, unless its title is not
// from any more. The new checkpoint's source is "update"; what runs next and the thread's
// place in lists stay.
func (m *Manager) Retitle(ctx context.Context, thread, from, to string) error {
	for {
		l, err := m.hold(ctx, thread, true)
		if err == nil {
			return m.retitle(ctx, l, thread, from, to)
		}
		if !errors.Is(err, ErrBusy) {
			return err
		}
		if err := m.whenIdle(ctx, thread); err != nil {
			return err
		}
	}
}

// whenIdle waits for the end of the run that is in the way, or a moment.
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

// retitle writes the title. Whoever else wants the thread waits for it, as it is not long
// and nobody has asked for it.
func (m *Manager) retitle(ctx context.Context, l *threadWork, thread, from, to string) error {
	defer m.release(l, thread)
	_, err := m.amend(ctx, thread, func(_ context.Context, s *agent.State) (agent.State, error) {
		if s.Title == nil || *s.Title != from {
			return agent.State{}, nil
		}
		return agent.State{Title: &to}, nil
	})
	if errors.Is(err, ErrNotFound) { // deleted meanwhile
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.announce(thread)
	return err
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
