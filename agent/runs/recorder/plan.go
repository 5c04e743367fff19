package recorder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"fawn/agent"
	"fawn/agent/runs/runevent"
)

// ErrSettled means that a run accepts no more plan changes.
var ErrSettled = errors.New("the run is ending")

// EditPlan shows a changed plan among the events of the run. It returns once the change would
// survive a crash.
func (r *Recorder) EditPlan(ctx context.Context, edit func([]agent.Todo) ([]agent.Todo, error)) ([]agent.Todo, error) {
	now, err := r.putPlan(ctx, edit)
	if err != nil {
		return nil, err
	}
	if err := r.lane.Flush(ctx); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStorage, err)
	}
	return now, nil
}

func (r *Recorder) putPlan(ctx context.Context, edit func([]agent.Todo) ([]agent.Todo, error)) ([]agent.Todo, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over || r.settled {
		return nil, ErrSettled
	}
	if err := r.left(); err != nil {
		return nil, err
	}
	was := agent.NumberTodos(r.planNow())
	now, err := edit(was)
	if err != nil || slices.Equal(was, now) {
		return now, err
	}
	data, err := agent.Encode(map[string]any{"type": runevent.PlanEdited, "todos": now})
	if err != nil {
		return nil, err
	}
	if r.held != nil { // its row would take the change along, which it lacks
		if err := r.storeHeld(ctx); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrStorage, err)
		}
	}
	r.named(&runevent.Event{Kind: runevent.KindCustom, Data: data})
	r.edited = now
	return now, nil
}

// planNow returns the plan with a person's pending changes. mu is held.
func (r *Recorder) planNow() []agent.Todo {
	if r.edited != nil {
		return r.edited
	}
	return r.plan
}

// Todos implements [agent.Turn.Plan].
func (r *Recorder) Todos() []agent.Todo {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.planNow()
}

// joinEdit merges a person's pending change into a step, on top of the step's own. mu is held.
func (r *Recorder) joinEdit(s *agent.Step) error {
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

// SettlePlan stores plan changes made after a run's last step. Later ones are written when the run is gone.
func (r *Recorder) SettlePlan(ctx context.Context, s *agent.State, next []string) error {
	r.mu.Lock()
	r.settled = true
	edited := r.edited != nil
	r.mu.Unlock()
	if !edited {
		return nil
	}
	return r.Step(ctx, agent.Step{Node: agent.NodeEnd, State: s, Next: next, Last: true})
}

// TakeEdit takes over a plan change after the last step of an interrupted run.
func (r *Recorder) TakeEdit(open []runevent.Event) {
	for _, ev := range open {
		var e struct {
			Type  string       `json:"type"`
			Todos []agent.Todo `json:"todos"`
		}
		if ev.Kind == runevent.KindCustom && ev.NS == "" && json.Unmarshal(ev.Data, &e) == nil &&
			e.Type == runevent.PlanEdited && e.Todos != nil {
			r.edited = e.Todos
		}
	}
}

// Edited reports whether a person's change of the plan waits for the next step.
func (r *Recorder) Edited() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.edited != nil
}
