package runs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"fawn/agent"
	"fawn/agent/runs/recorder"
)

// EditPlan applies edit to a thread's plan, also during a run, and returns the new plan. Items have ids. edit may be
// called several times. Errors: ErrInput for a plan beyond its limits, ErrNotFound, ErrStorage, and edit's.
func (m *Manager) EditPlan(ctx context.Context, thread string,
	edit func([]agent.Todo) ([]agent.Todo, error)) ([]agent.Todo, error) {
	checked := func(was []agent.Todo) ([]agent.Todo, error) {
		now, err := edit(slices.Clone(was))
		if err != nil {
			return nil, err
		}
		agent.KeepTodoIDs(was, now)
		return now, checkPlan(now)
	}
	for {
		if here := m.planHere(thread); here != nil {
			now, err := here(ctx, checked)
			if !errors.Is(err, recorder.ErrSettled) && !errors.Is(err, ErrShutdown) {
				return now, err
			}
		}
		if m.busyElsewhere(ctx, thread) {
			now, err := editRemotePlan(ctx, m.db, thread, checked, func() bool { return m.busyElsewhere(ctx, thread) })
			if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil { // it waits for a server, or that hangs
				err = fmt.Errorf("thread %s: %w", thread, ErrBusy)
			}
			if !errors.Is(err, errLeft) {
				return now, err
			}
		}
		var now []agent.Todo
		_, err := m.Amend(ctx, thread, func(_ context.Context, s *agent.State) (agent.State, error) {
			was := agent.NumberTodos(s.Todos)
			var err error
			if now, err = checked(was); err != nil || slices.Equal(was, now) {
				return agent.State{}, err
			}
			return agent.State{Todos: now,
				Edited: agent.AddPlanEdit(s.Edited, agent.PlanEdit{Before: was, After: now})}, nil
		})
		if !errors.Is(err, ErrBusy) {
			return now, err
		}
		select { // a run that begins or ends
		case <-time.After(idlePoll):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// planHere changes the plan of the run active on a thread here.
func (m *Manager) planHere(thread string) func(context.Context, planEdit) ([]agent.Todo, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l := m.threads[thread]; l != nil && l.active != nil && l.active.rec != nil {
		return l.active.rec.EditPlan
	}
	return nil
}

func checkPlan(list []agent.Todo) error {
	if len(list) > agent.MaxTodos {
		return fmt.Errorf("%w: a plan has at most %d items", ErrInput, agent.MaxTodos)
	}
	for _, t := range list {
		if t.Content == "" || len([]rune(t.Content)) > agent.MaxTodoChars || len(t.ID) > agent.MaxTodoID {
			return fmt.Errorf("%w: an item of a plan has 1 to %d characters", ErrInput, agent.MaxTodoChars)
		}
	}
	return nil
}
