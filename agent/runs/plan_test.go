package runs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/runs"
	"fawn/agent/runs/runevent"
)

// planner is an agent whose first step writes a plan and whose second one says half a word and
// holds still until go is closed.
func planner(goOn chan struct{}) runs.Build {
	write := &agent.Tool{Name: "write", Run: func(context.Context, *agent.Turn, agent.ToolCall) (agent.Result, error) {
		r := agent.TextResult("written")
		r.Patch.Todos = []agent.Todo{{ID: "1", Content: "look", Status: "completed"},
			{ID: "2", Content: "write", Status: "in_progress"}}
		return r, nil
	}}
	model := modelOf(func(ctx context.Context, req *agent.Request, yield func(agent.Chunk, error) bool) {
		if req.Messages[len(req.Messages)-1].Type != agent.TypeTool {
			yield(agent.Chunk{Calls: []agent.CallDelta{{ID: "c1", Name: "write", Args: "{}"}},
				Finish: "tool_calls"}, nil)
			return
		}
		yield(agent.Chunk{Text: "half"}, nil)
		select {
		case <-goOn:
			yield(agent.Chunk{Text: " whole", Finish: "stop"}, nil)
		case <-ctx.Done():
			yield(agent.Chunk{}, ctx.Err())
		}
	})
	return func(context.Context, runs.Spec) (*agent.Agent, error) {
		return &agent.Agent{Tools: []*agent.Tool{write}, Model: model}, nil
	}
}

// strikeAndAdd is what a person does: the second item goes, another comes.
func strikeAndAdd(was []agent.Todo) ([]agent.Todo, error) {
	return append(was[:1], agent.Todo{Content: "check"}), nil
}

func items(list []agent.Todo) string {
	var out []string
	for _, t := range list {
		out = append(out, t.ID+":"+t.Content)
	}
	return strings.Join(out, " ")
}

func planOf(ev runevent.Event) string {
	var e struct {
		Type  string
		Todos []agent.Todo
	}
	if ev.Kind != runevent.KindCustom || json.Unmarshal(ev.Data, &e) != nil || e.Type != runevent.PlanEdited {
		return ""
	}
	return items(e.Todos)
}

// APlanIsEditedWhileARunWorks: readers see it at once, the next step has it, and the
// state says what the model has not been told.
func (s suite) APlanIsEditedWhileARunWorks(t *testing.T) {
	goOn := make(chan struct{})
	w := s.openWith(t, t.TempDir(), runs.Config{Build: planner(goOn)})
	run := w.startAs(t, "a", "go", "reject")
	w.until(t, run, text("half"))
	now, err := w.m.EditPlan(t.Context(), "a", strikeAndAdd)
	if err != nil || items(now) != "1:look 3:check" {
		t.Fatalf("%s, %v", items(now), err)
	}
	w.until(t, run, func(e runevent.Event) bool { return planOf(e) == "1:look 3:check" })
	if s := w.state(t, "a", ""); items(s.Todos) != "1:look 2:write" {
		t.Errorf("before the step: %s", items(s.Todos))
	}
	if now, err = w.m.EditPlan(t.Context(), "a", func(was []agent.Todo) ([]agent.Todo, error) {
		return append(was, agent.Todo{Content: "send"}), nil
	}); err != nil || items(now) != "1:look 3:check 4:send" {
		t.Fatalf("%s, %v", items(now), err)
	}
	list := json.RawMessage(`{"todos":[{"content":"look","status":"completed"},{"content":"check","status":"pending"},{"content":"send","status":"pending"}]}`)
	cp, err := w.m.UpdateState(t.Context(), "a", runs.Update{Values: list})
	if err != nil || cp.ID != w.head(t, "a").ID {
		t.Errorf("an update of nothing but the plan: %v", err)
	}
	for _, u := range []runs.Update{{Values: list, Strict: true}, {Values: list, AsNode: "model"},
		{Values: list, Checkpoint: w.head(t, "a").ID}, {Values: json.RawMessage(`{"todos":[],"title":"x"}`)}} {
		if _, err := w.m.UpdateState(t.Context(), "a", u); !errors.Is(err, runs.ErrBusy) {
			t.Errorf("%s: %v", u.Values, err)
		}
	}
	no := errors.New("no")
	_, err = w.m.EditPlan(t.Context(), "a", func([]agent.Todo) ([]agent.Todo, error) { return nil, no })
	if !errors.Is(err, no) {
		t.Error(err)
	}
	for _, bad := range [][]agent.Todo{{{}}, {{Content: strings.Repeat("x", agent.MaxTodoChars+1)}},
		make([]agent.Todo, agent.MaxTodos+1)} {
		_, err := w.m.EditPlan(t.Context(), "a", func([]agent.Todo) ([]agent.Todo, error) { return bad, nil })
		if !errors.Is(err, runs.ErrInput) {
			t.Errorf("%d items: %v", len(bad), err)
		}
	}
	close(goOn)
	w.end(t, run, runs.Success)
	st := w.state(t, "a", "")
	if items(st.Todos) != "1:look 3:check 4:send" || len(st.Edited) != 1 ||
		items(st.Edited[0].Before) != "1:look 2:write" {
		t.Errorf("%s, untold %+v", items(st.Todos), st.Edited)
	}
	if last := st.Messages[len(st.Messages)-1].Content.Text; last != "half whole" {
		t.Errorf("the answer is %q", last)
	}
	w.sound(t)
}

// AnEditOfThePlanOutlivesWhateverEndsTheRun: a server that stops, one that does not go on
// with runs, and a cancel.
func (s suite) AnEditOfThePlanOutlivesWhateverEndsTheRun(t *testing.T) {
	for _, c := range []struct {
		name   string
		status string
		mark   bool
		cancel bool
	}{{"goes on", runs.Success, false, false}, {"marked", runs.Interrupted, true, false},
		{"cancelled", runs.Interrupted, false, true}} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			w := s.openWith(t, dir, runs.Config{Build: planner(make(chan struct{}))})
			run := w.startAs(t, "a", "go", "reject")
			w.until(t, run, text("half"))
			must.Get(w.m.EditPlan(t.Context(), "a", strikeAndAdd))(t)
			if c.cancel {
				must.Do(t, w.m.Cancel(t.Context(), "a", run.ID, true))
			} else {
				w.close()
				goOn := make(chan struct{})
				close(goOn)
				w = s.openWith(t, dir, runs.Config{Build: planner(goOn), Mark: c.mark})
			}
			if !c.mark {
				w.end(t, run, c.status)
			}
			st := w.state(t, "a", "")
			if items(st.Todos) != "1:look 3:check" || len(st.Edited) != 1 {
				t.Errorf("%s, untold %+v", items(st.Todos), st.Edited)
			}
			w.sound(t)
		})
	}
}

// APlanIsEditedWhileNothingRuns, and while runs begin and end: no edit is lost.
func (s suite) APlanIsEditedWhileNothingRuns(t *testing.T) {
	goOn := make(chan struct{})
	close(goOn)
	w := s.openWith(t, t.TempDir(), runs.Config{Build: planner(goOn)})
	if _, err := w.m.EditPlan(t.Context(), "none", strikeAndAdd); !errors.Is(err, runs.ErrNotFound) {
		t.Error(err)
	}
	w.end(t, w.startAs(t, "a", "go", "reject"), runs.Success)
	if now, err := w.m.EditPlan(t.Context(), "a", strikeAndAdd); err != nil || items(now) != "1:look 3:check" {
		t.Fatalf("%s, %v", items(now), err)
	}
	if cp := w.head(t, "a"); cp.Source != "update" || len(cp.Next) > 0 || w.status(t, "a") != runs.Idle {
		t.Errorf("%+v", cp)
	}
	// One run after the other writes the plan anew, while each item that is added stays.
	done := make(chan struct{})
	var failed error
	go func() {
		defer close(done)
		for i := range 20 {
			if _, failed = w.m.EditPlan(t.Context(), "a", func(was []agent.Todo) ([]agent.Todo, error) {
				return append(was, agent.Todo{ID: fmt.Sprint("u", i), Content: "more"}), nil
			}); failed != nil {
				return
			}
		}
	}()
	for range 5 {
		w.end(t, w.startAs(t, "a", "go", "enqueue"), runs.Success)
	}
	<-done
	if failed != nil {
		t.Fatal(failed)
	}
	st := w.state(t, "a", "")
	untold := ""
	for _, e := range st.Edited {
		untold += " " + items(e.After)
	}
	for i := range 20 {
		if !strings.Contains(untold+" ", fmt.Sprintf(" u%d:more ", i)) {
			t.Errorf("edit %d is lost: %s", i, untold)
		}
	}
	w.sound(t)
}
