package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"fawn/agent"
	"fawn/agent/runs/runevent"
)

// PlanEdited is the type of the custom event that shows a plan as a person has changed it, in
// todos. It stands in the run's log before anybody sees it; the next step writes it to the
// state, together with what the model wrote.
const PlanEdited = "todos_edited"

// errSettled means that a run takes no more changes of the plan.
var errSettled = errors.New("the run is ending")

// EditPlan writes what edit makes of a thread's plan, also while a run works, and returns the
// plan. Items come with ids. edit may be called several times. Errors: ErrInput for a plan
// past its bounds, ErrNotFound, ErrStorage, and what edit returns.
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
		m.mu.Lock()
		var rec *recorder
		if l := m.threads[thread]; l != nil && l.active != nil {
			rec = l.active.rec
		}
		m.mu.Unlock()
		if rec != nil {
			now, err := rec.editPlan(ctx, checked)
			if !errors.Is(err, errSettled) && !errors.Is(err, ErrShutdown) {
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
			return agent.State{Todos: now, Edited: agent.AddPlanEdit(s.Edited, agent.PlanEdit{Before: was, After: now})}, nil
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

// editPlan shows a changed plan among the events of the run. It returns once the change would
// survive a crash.
func (r *recorder) editPlan(ctx context.Context, edit func([]agent.Todo) ([]agent.Todo, error)) ([]agent.Todo, error) {
	now, err := r.putPlan(edit)
	if err != nil {
		return nil, err
	}
	if err := r.lane.Flush(ctx); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStorage, err)
	}
	return now, nil
}

func (r *recorder) putPlan(edit func([]agent.Todo) ([]agent.Todo, error)) ([]agent.Todo, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over || r.settled {
		return nil, errSettled
	}
	if err := r.left(); err != nil {
		return nil, err
	}
	was := agent.NumberTodos(r.planNow())
	now, err := edit(was)
	if err != nil || slices.Equal(was, now) {
		return now, err
	}
	data, err := agent.Encode(map[string]any{"type": PlanEdited, "todos": now})
	if err != nil {
		return nil, err
	}
	r.named(runevent.Event{Kind: runevent.KindCustom, Data: data})
	r.edited = now
	return now, nil
}

// planNow is the plan with what a person has changed. mu is held.
func (r *recorder) planNow() []agent.Todo {
	if r.edited != nil {
		return r.edited
	}
	return r.plan
}

// todos implements [agent.Turn.Plan].
func (r *recorder) todos() []agent.Todo {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.planNow()
}

// joinEdit makes a person's change part of a step, on top of what the step writes. mu is held.
func (r *recorder) joinEdit(s *agent.Step) error {
	if r.edited == nil {
		return nil
	}
	e := agent.PlanEdit{Before: agent.NumberTodos(r.plan), After: r.edited}
	p := agent.State{Todos: e.Merge(s.State.Todos), Edited: agent.AddPlanEdit(s.State.Edited, e)}
	if err := s.State.Apply(p); err != nil {
		return err
	}
	s.Patch.Todos, s.Patch.Edited = p.Todos, p.Edited
	return nil
}

// settlePlan stores what was changed in the plan behind the last step of a run. What comes
// later is written when the run is gone.
func (r *recorder) settlePlan(ctx context.Context, s *agent.State, next []string) error {
	r.mu.Lock()
	r.settled = true
	edited := r.edited != nil
	r.mu.Unlock()
	if !edited {
		return nil
	}
	return r.Step(ctx, agent.Step{Node: agent.NodeEnd, State: s, Next: next, Last: true})
}

// takeEdit takes over a change of the plan that stands behind the last step of a run which
// was cut off.
func (r *recorder) takeEdit(open []runevent.Event) {
	for _, ev := range open {
		var e struct {
			Type  string       `json:"type"`
			Todos []agent.Todo `json:"todos"`
		}
		if ev.Kind == runevent.KindCustom && ev.NS == "" && json.Unmarshal(ev.Data, &e) == nil &&
			e.Type == PlanEdited && e.Todos != nil {
			r.edited = e.Todos
		}
	}
}
