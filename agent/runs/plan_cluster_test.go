package runs_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/runs"
	"fawn/agent/runs/runevent"
)

// APlanIsEditedElsewhere: the server that has the run changes it; the next edit stands on that one, and the run ends
// with both.
func (c cluster) APlanIsEditedElsewhere(t *testing.T) {
	goOn := make(chan struct{})
	a, b := c.join(t, c.url, 0, planner(goOn)), c.join(t, c.url, 0, planner(goOn))
	run := a.startAs(t, "a", "go", "reject")
	a.until(t, run, text("half"))
	edit := func(want string, change func([]agent.Todo) ([]agent.Todo, error)) {
		t.Helper()
		now, err := b.m.EditPlan(t.Context(), "a", change)
		if err != nil || items(now) != want {
			t.Fatalf("%s, %v", items(now), err)
		}
	}
	edit("1:look 3:check", strikeAndAdd)
	a.until(t, run, func(e runevent.Event) bool { return planOf(e) == "1:look 3:check" })
	edit("1:look 3:check 4:send", func(was []agent.Todo) ([]agent.Todo, error) {
		return append(was, agent.Todo{Content: "send"}), nil
	})
	no := errors.New("no")
	_, err := b.m.EditPlan(t.Context(), "a", func([]agent.Todo) ([]agent.Todo, error) { return nil, no })
	if !errors.Is(err, no) {
		t.Error(err)
	}
	close(goOn)
	a.end(t, run, runs.Success)
	if st := b.state(t, "a", ""); items(st.Todos) != "1:look 3:check 4:send" || len(st.Edited) != 1 {
		t.Errorf("%s, untold %+v", items(st.Todos), st.Edited)
	}
	edit("1:look 3:check 4:send 5:rest", func(was []agent.Todo) ([]agent.Todo, error) { // nothing runs any more
		return append(was, agent.Todo{Content: "rest"}), nil
	})
	whole(t, a, b)
}

// APlanThatNobodyHasIsBusy: a run that waits for a server with room, until whoever asks gives up.
func (c cluster) APlanThatNobodyHasIsBusy(t *testing.T) {
	a := c.join(t, c.url, 1, always(parrotAgent()))
	first := a.start(t, "t1", "hang one")
	a.until(t, first, text("hang"))
	second := a.start(t, "t2", "two")
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := a.m.EditPlan(ctx, "t2", strikeAndAdd); err == nil {
		t.Error("nobody changed it")
	}
	must.Report(t, a.m.Cancel(t.Context(), "t1", first.ID, true))
	a.end(t, second, runs.Success)
	whole(t, a)
}
