package lead_test

import (
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/agent/middleware"
	"fawn/agent/runs"
)

const plan = `{"todos":[{"content":"look","status":"completed"},{"content":"write <it>","status":"in_progress"}]}`

// TestAPlanIsKeptToItsEnd: the plan is in the state, an answer with open items is sent back
// twice at most, by notes which only that one request has.
func TestAPlanIsKeptToItsEnd(t *testing.T) {
	w := newWorld(t, []agenttest.Reply{
		agenttest.Call("c1", "write_todos", plan), agenttest.Say("All done."), agenttest.Say("Really."),
		agenttest.Say("I mean it."),
	})
	run := w.say(t, "do it", `{"is_plan_mode":true}`)
	if run.Status != runs.Success || len(w.script.Requests()) != 4 {
		t.Fatalf("%s, %d calls", run.Status, len(w.script.Requests()))
	}
	s := w.state(t)
	if len(s.Todos) != 2 || s.Todos[1].Content != "write <it>" || s.Todos[1].Title != "write <it>" ||
		s.Todos[1].ID != "2" || s.Todos[1].Status != "in_progress" {
		t.Errorf("todos %+v", s.Todos)
	}
	for i, want := range []bool{false, false, true, true} {
		req := w.request(t, i)
		if got := strings.Contains(lines(req), "todo_completion_reminder: "); got != want {
			t.Errorf("call %d is reminded: %v", i, got)
		}
		if want && !strings.Contains(lines(req), "- [in_progress] write &lt;it&gt;") {
			t.Errorf("call %d: %s", i, lines(req))
		}
		if !offers(req, "write_todos") {
			t.Errorf("call %d has no write_todos", i)
		}
	}
	if n := strings.Count(lines(w.request(t, 3)), "todo_completion_reminder: "); n != 1 {
		t.Errorf("%d reminders in one request", n)
	}
	if strings.Contains(texts(s), "reminder") {
		t.Error("a reminder went to the log")
	}
	w.say(t, "and now something else", `{"is_plan_mode":true}`)
	if n := len(w.script.Requests()); n != 5 {
		t.Errorf("%d calls: a plan of an earlier turn is nagged about", n)
	}
	w.say(t, "plain", "")
	if offers(w.request(t, 5), "write_todos") {
		t.Error("write_todos is offered outside of plan mode")
	}
}

func texts(s agent.State) string {
	var b strings.Builder
	for _, m := range s.Messages {
		b.WriteString(m.Type + ": " + m.Content.String() + "\n")
	}
	return b.String()
}

func TestTwoPlansInOneAnswerAreRefused(t *testing.T) {
	w := newWorld(t, []agenttest.Reply{agenttest.Call("c1", "write_todos", plan, "c2", "write_todos", plan)})
	w.say(t, "do it", `{"is_plan_mode":true}`)
	if s := w.state(t); len(s.Todos) != 0 || strings.Count(texts(s), "more than once") != 2 {
		t.Errorf("%+v\n%s", s.Todos, texts(s))
	}
}

// TestTokensAreAttributed: the answer says what its tokens went to, and the log what it cost.
func TestTokensAreAttributed(t *testing.T) {
	w := newWorld(t, []agenttest.Reply{agenttest.Call("c1", "write_todos", plan),
		agenttest.Call("c2", "ls", `{"description":"look","path":"/mnt/user-data/uploads"}`), agenttest.Say("Done.")})
	w.say(t, "do it", `{"is_plan_mode":true}`)
	var kinds []string
	for _, m := range w.state(t).Messages {
		if a, ok := m.Kwargs["token_usage_attribution"].(map[string]any); ok {
			kinds = append(kinds, a["kind"].(string))
			if a["kind"] == "todo_update" && len(a["actions"].([]any)) != 2 {
				t.Errorf("actions %v", a["actions"])
			}
		}
	}
	if got := strings.Join(kinds, " "); !strings.HasPrefix(got, "todo_update tool_batch final_answer") {
		t.Errorf("kinds %s", got)
	}
	if !strings.Contains(w.log.String(), `msg="LLM token usage"`) {
		t.Error("the log does not say what a call cost")
	}
}

// TestTooManyHelpersAreDropped: the order stays, other calls stay, the log says it in the
// words people look for.
func TestTooManyHelpersAreDropped(t *testing.T) {
	helper := func(_ *config.File, o *lead.Options) {
		o.Tools = []*agent.Tool{tool("task", func(agent.ToolCall) agent.Result { return agent.TextResult("found") })}
	}
	five := agenttest.Call("a", "task", `{}`, "b", "task", `{}`, "x", "ls", `{"path":"/mnt/user-data/uploads"}`, "c",
		"task", `{}`, "d", "task", `{}`, "e", "task", `{}`)
	for _, c := range []struct{ name, options, calls, log string }{
		{"the default of 3", `{"subagent_enabled":true}`, "a b x c", "Truncated 2 excess task call(s) from model response (limit: 3)"},
		{"clamped from below", `{"subagent_enabled":true,"max_concurrent_subagents":1}`, "a b x", "Truncated 3 excess task call(s) from model response (limit: 2)"},
		{"clamped from above", `{"subagent_enabled":true,"max_concurrent_subagents":9}`, "a b x c d", "Truncated 1 excess task call(s) from model response (limit: 4)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, []agenttest.Reply{five, agenttest.Say("Done.")}, helper)
			w.say(t, "go", c.options)
			var calls []string
			for _, m := range w.request(t, 1).Messages {
				for _, call := range m.ToolCalls {
					calls = append(calls, call.ID)
				}
			}
			if got := strings.Join(calls, " "); got != c.calls || !strings.Contains(w.log.String(), c.log) {
				t.Errorf("calls %q", got)
			}
		})
	}
	w := newWorld(t, []agenttest.Reply{
		agenttest.Call("a", "task", `{}`, "b", "task", `{}`, "c", "task", `{}`),
		agenttest.Call("d", "task", `{}`, "e", "task", `{}`, "f", "task", `{}`), agenttest.Call("g", "task", `{}`),
		agenttest.Say("That is all."),
	}, helper)
	run := w.say(t, "go", `{"subagent_enabled":true}`)
	if last := w.request(t, 3); run.Status != runs.Success || run.StopReason != "subagent_limit_capped" ||
		len(last.Tools) != 0 {
		t.Errorf("%s %q, %d tools in the last call", run.Status, run.StopReason, len(last.Tools))
	}
}

// TestARunInCirclesIsWarnedThenEnded: a warning at the third answer with the same calls, in
// one request only; at the fifth the calls are taken away and the run answers without tools.
func TestARunInCirclesIsWarnedThenEnded(t *testing.T) {
	same := agenttest.Call("c", "ls", `{"description":"again","path":"/mnt/user-data/uploads"}`)
	w := newWorld(t, []agenttest.Reply{same, same, same, same, same, agenttest.Say("I stop.")})
	run := w.say(t, "go", "")
	if run.Status != runs.Success || run.StopReason != "loop_capped" || len(w.script.Requests()) != 6 {
		t.Fatalf("%s %q, %d calls", run.Status, run.StopReason, len(w.script.Requests()))
	}
	for i, want := range []bool{false, false, false, true, false, false} {
		if got := strings.Contains(lines(w.request(t, i)), "loop_warning: "); got != want {
			t.Errorf("call %d is warned: %v", i, got)
		}
	}
	last := w.request(t, 5)
	if len(last.Tools) != 0 || !strings.Contains(lines(last), "last_turn: The same calls were made 5 times.") {
		t.Errorf("last call: %d tools\n%s", len(last.Tools), lines(last))
	}
	if s := texts(w.state(t)); !strings.Contains(s, "[FORCED STOP] The same calls were made 5 times.") ||
		!strings.HasSuffix(s, "ai: I stop.\n") {
		t.Error(s)
	}
	if run := w.say(t, "go on", ""); run.Status != runs.Success || run.StopReason != "" {
		t.Errorf("the next run: %s %q", run.Status, run.StopReason)
	}
}

// TestOneToolTooOftenEndsARun is the second layer: the calls differ, the tool does not.
func TestOneToolTooOftenEndsARun(t *testing.T) {
	var replies []agenttest.Reply
	for i := range 6 {
		replies = append(replies,
			agenttest.Call("c", "ls", `{"path":"/mnt/user-data/uploads/`+strings.Repeat("x", i)+`"}`))
	}
	w := newWorld(t, replies, func(f *config.File, _ *lead.Options) {
		f.LoopDetection.Tools = map[string]middleware.ToolLimit{"ls": {Warn: 3, Hard: 5}}
	})
	run := w.say(t, "go", "")
	if run.StopReason != "loop_capped" || !strings.Contains(lines(w.request(t, 3)), "You have called ls 3 times") {
		t.Errorf("%q\n%s", run.StopReason, lines(w.request(t, 3)))
	}
}

// TestHiddenToolsAreFoundFirst: schemas appear in the request behind the search, and a call
// before that is answered with the way there.
func TestHiddenToolsAreFoundFirst(t *testing.T) {
	called := 0
	w := newWorld(t, []agenttest.Reply{
		agenttest.Call("c1", "gh_issue", `{}`), agenttest.Call("c2", "tool_search", `{"query":"select:gh_issue"}`),
		agenttest.Call("c3", "gh_issue", `{}`),
	}, func(f *config.File, o *lead.Options) {
		f.ToolSearch.Enabled = true
		for _, name := range []string{"gh_issue", "gh_pull"} {
			hidden := tool(name, func(agent.ToolCall) agent.Result { called++; return agent.TextResult("an issue") })
			hidden.Deferred = true
			o.Tools = append(o.Tools, hidden)
		}
	})
	w.say(t, "go", "")
	for i, want := range []bool{false, false, true, true} {
		req := w.request(t, i)
		if offers(req, "gh_issue") != want || offers(req, "gh_pull") || !offers(req, "tool_search") {
			t.Errorf("call %d: %d tools", i, len(req.Tools))
		}
	}
	if s := w.state(t); called != 1 || !strings.Contains(texts(s), "Error: Tool 'gh_issue' is deferred") ||
		s.Promoted == nil {
		t.Errorf("%d calls\n%s", called, texts(s))
	}
	w.say(t, "go on", "")
	if !offers(w.request(t, 4), "gh_issue") {
		t.Error("the next run has forgotten what was found")
	}
}
