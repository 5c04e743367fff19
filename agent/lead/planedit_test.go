package lead_test

import (
	"strings"
	"testing"
	"time"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/runs"
)

// TestAPersonEditsThePlanOfARun: what is changed while the model writes a plan of its own
// stands beside it, and the model is told once, in a note that stays. What is added while it
// answers sends it back to work.
func TestAPersonEditsThePlanOfARun(t *testing.T) {
	second, third := make(chan struct{}), make(chan struct{})
	again := agenttest.Call("c2", "write_todos",
		`{"todos":[{"content":"look","status":"completed"},{"content":"write <it>","status":"completed"},{"content":"send","status":"completed"}]}`)
	again.Before = second
	done := agenttest.Say("All done.")
	done.Before = third
	w := newWorld(t, []agenttest.Reply{
		agenttest.Call("c1", "write_todos", plan), again, done,
		agenttest.Call("c3", "write_todos", `{"todos":[{"content":"look","status":"completed"},{"content":"send","status":"completed"},{"content":"check","status":"completed"},{"content":"more","status":"completed"}]}`),
		agenttest.Say("Now it is."),
	})
	ended := make(chan struct{})
	go func() { defer close(ended); w.say(t, "do it", `{"is_plan_mode":true}`) }()
	asked := func(n int) {
		for len(w.script.Requests()) < n {
			select {
			case <-ended:
				t.Fatal("the run has ended")
			case <-time.After(time.Millisecond):
			}
		}
	}
	edit := func(f func([]agent.Todo) []agent.Todo) {
		t.Helper()
		must.Get(w.m.EditPlan(t.Context(), "t1", func(was []agent.Todo) ([]agent.Todo, error) { return f(was), nil }))(t)
	}
	asked(2)
	edit(func(was []agent.Todo) []agent.Todo {
		return append(was[:1], agent.Todo{Content: "check", Status: "pending"})
	})
	close(second)
	asked(3)
	edit(func(was []agent.Todo) []agent.Todo {
		return append(was, agent.Todo{Content: "more", Status: "pending"})
	})
	close(third)
	<-ended

	if n := len(w.script.Requests()); n != 5 {
		t.Fatalf("%d calls", n)
	}
	var plan []string
	for _, todo := range w.state(t).Todos {
		plan = append(plan, todo.Status+" "+todo.Content)
	}
	if got := strings.Join(plan, ", "); got != "completed look, completed send, completed check, completed more" {
		t.Errorf("plan: %s", got)
	}
	if s := lines(w.request(t, 2)); !strings.Contains(s, "The user changed the plan at the same time") ||
		!strings.Contains(s, "plan_edit: ") || !strings.Contains(s, "Added: check\nStruck: write &lt;it&gt;\n") ||
		strings.Contains(s, "[completed] write") {
		t.Errorf("the model reads\n%s", s)
	}
	if s := lines(w.request(t, 3)); strings.Count(s, "plan_edit: ") != 2 || !strings.Contains(s, "Added: more\n") ||
		!strings.Contains(s, "todo_completion_reminder: ") {
		t.Errorf("then it reads\n%s", s)
	}
	if s := lines(w.request(t, 4)); strings.Count(s, "plan_edit: ") != 2 || len(w.state(t).Edited) != 0 {
		t.Errorf("at the end it reads\n%s", s)
	}
}

// TestAPlanChangedBetweenTurnsIsToldInTheNext, also outside of plan mode.
func TestAPlanChangedBetweenTurnsIsToldInTheNext(t *testing.T) {
	w := newWorld(t, []agenttest.Reply{agenttest.Call("c1", "write_todos", plan), agenttest.Say("a"),
		agenttest.Say("b"), agenttest.Say("c"), agenttest.Say("d")})
	w.say(t, "do it", `{"is_plan_mode":true}`)
	for _, text := range []string{"first", "second"} {
		must.Get(w.m.EditPlan(t.Context(), "t1", func(was []agent.Todo) ([]agent.Todo, error) {
			was[1].Content = text
			return was, nil
		}))(t)
	}
	if run := w.say(t, "go on", ""); run.Status != runs.Success {
		t.Fatal(run.Error)
	}
	s := lines(w.request(t, 4))
	if strings.Count(s, "plan_edit: ") != 1 || !strings.Contains(s, "Rewritten: second (was: write &lt;it&gt;)") ||
		strings.Contains(s, "first") {
		t.Errorf("the model reads\n%s", s)
	}
}
