package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"fawn/agent"
	"fawn/store"
)

const (
	planLook = 50 * time.Millisecond // polling interval for an answer
	planTime = 10 * time.Second      // limit of waiting for it
)

// errLeft means that the run is no longer there.
var errLeft = errors.New("the run has left its server")

// planEdit changes a plan.
type planEdit = func([]agent.Todo) ([]agent.Todo, error)

// asked is a plan change sent from the server of the request to the server of the run.
type asked struct {
	Plan  []agent.Todo    `json:"plan"` // the run's plan, once Known
	Known bool            `json:"known"`
	Edit  *agent.PlanEdit `json:"edit,omitempty"`
	Done  bool            `json:"done"`
}

// editRemotePlan makes a run's server change its plan. there reports whether a server has it; otherwise it fails with
// errLeft.
func editRemotePlan(ctx context.Context, db *store.DB, thread string, edit planEdit, there func() bool) ([]agent.Todo, error) {
	ctx, cancel := context.WithTimeout(ctx, planTime)
	defer cancel()
	key, a := thread+" "+uuid.Must(uuid.NewV7()).String(), asked{}
	defer putAsked(context.WithoutCancel(ctx), db, key, nil) // remaining entries have no caller
	if err := a.ask(ctx, db, key, there, func() bool { return a.Known }); err != nil {
		return nil, err
	}
	was := a.Plan
	now, err := edit(slices.Clone(was))
	if err != nil || slices.Equal(was, now) {
		return now, err
	}
	a.Edit = &agent.PlanEdit{Before: was, After: now}
	if err := a.ask(ctx, db, key, there, func() bool { return a.Done }); err != nil {
		return nil, err
	}
	return a.Plan, nil
}

// ask stores a request and waits for its answer.
func (a *asked) ask(ctx context.Context, db *store.DB, key string, there, answered func() bool) error {
	if err := putAsked(ctx, db, key, a); err != nil {
		return err
	}
	db.Say(store.WakeSpace, 0, store.PlanSpace)
	for ticker := time.NewTicker(planLook); ; {
		body, err := db.KV(ctx, store.Global, store.PlanSpace, key)
		if err == nil {
			*a = asked{} // decoding would merge into existing lists
			err = json.Unmarshal(body, a)
		}
		if err == nil && !answered() && !there() {
			err = errLeft
		}
		if err != nil || answered() {
			ticker.Stop()
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			ticker.Stop()
			return context.Cause(ctx)
		}
	}
}

func putAsked(ctx context.Context, db *store.DB, key string, a *asked) error {
	kv := store.KV{Owner: store.Global, Space: store.PlanSpace, Key: key}
	if a != nil {
		var err error
		if kv.Body, err = agent.Encode(a); err != nil {
			return err
		}
	}
	return db.Commit(ctx, store.Batch{KV: []store.KV{kv}})
}

// answerPlans answers plan requests of other servers. here changes the plan of a thread's run, and is nil if none is
// active.
func answerPlans(ctx context.Context, db *store.DB,
	here func(thread string) func(context.Context, planEdit) ([]agent.Todo, error)) error {
	list, err := db.KVs(ctx, store.Global, store.PlanSpace, "")
	if err != nil {
		return err
	}
	for _, kv := range list {
		thread, _, _ := strings.Cut(kv.Key, " ")
		change := here(thread)
		var a asked
		if change == nil || json.Unmarshal(kv.Body, &a) != nil || a.Done || a.Known && a.Edit == nil {
			continue
		}
		plan, failed := change(ctx, func(was []agent.Todo) ([]agent.Todo, error) {
			if a.Edit == nil {
				return was, nil
			}
			return agent.NumberTodos(a.Edit.Merge(was)), nil
		})
		if failed != nil { // the run is ending, or the caller finds it on another server
			err = errors.Join(err, fmt.Errorf("change the plan of thread %s: %w", thread, failed))
			continue
		}
		a.Plan, a.Done, a.Known = plan, a.Edit != nil, true
		err = errors.Join(err, putAsked(ctx, db, kv.Key, &a))
	}
	return err
}
