package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
)

// tool is a tool of a function.
func tool(name string, run func(context.Context, *agent.Turn, agent.ToolCall) (agent.Result, error)) *agent.Tool {
	return &agent.Tool{Name: name, Schema: json.RawMessage(`{"type":"object"}`), Run: run}
}

// calls is an answer which calls one tool n times, as c0, c1, ….
func calls(name string, n int) agenttest.Reply {
	var parts []string
	for i := range n {
		parts = append(parts, fmt.Sprint("c", i), name, "{}")
	}
	return agenttest.Call(parts...)
}

func TestToolsRunAtTheSameTimeAndAnswerInOrder(t *testing.T) {
	const n = 8
	var arrived sync.WaitGroup
	arrived.Add(n)
	ended := make([]chan struct{}, n+1)
	for i := range ended {
		ended[i] = make(chan struct{})
	}
	close(ended[n])
	meet := tool("meet", func(ctx context.Context, _ *agent.Turn, c agent.ToolCall) (agent.Result, error) {
		arrived.Done()
		arrived.Wait() // only passes when all run at once
		i := int(c.ID[1] - '0')
		<-ended[i+1] // the last call ends first
		close(ended[i])
		return agent.TextResult("r" + c.ID), nil
	})
	sink := &agenttest.Sink{}
	a := &agent.Agent{Model: script(calls("meet", n)), Tools: []*agent.Tool{meet}}
	turn := agenttest.Turn("hi", sink)
	must.Get(a.Run(t.Context(), turn))(t)
	for i, m := range turn.State.Messages[2 : 2+n] {
		if want := fmt.Sprint("c", i); m.ToolCallID != want || m.Content.Text != "r"+want {
			t.Errorf("result %d answers %s with %q", i, m.ToolCallID, m.Content.Text)
		}
	}
	if got := len(sink.Steps()); got != 3 {
		t.Errorf("%d steps, want model, tools, model", got)
	}
}

func TestNoMoreThanSixteenToolsRunAtOnce(t *testing.T) {
	var now, most atomic.Int32
	full := make(chan struct{})
	open := sync.OnceFunc(func() { close(full) })
	hold := tool("hold", func(context.Context, *agent.Turn, agent.ToolCall) (agent.Result, error) {
		n := now.Add(1)
		defer now.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		if n == 16 {
			open()
		}
		<-full
		return agent.TextResult(""), nil
	})
	var a agent.Agent
	a.Model, a.Tools = script(calls("hold", 31)), []*agent.Tool{hold}
	must.Get(a.Run(t.Context(), agenttest.Turn("hi", &agenttest.Sink{})))(t)
	if most.Load() != 16 {
		t.Errorf("%d tools ran at once", most.Load())
	}
}

func TestCallsWhichCannotRun(t *testing.T) {
	broken := errors.New("no disk")
	wrapPanic := agent.Middleware{Name: "bad", WrapTool: func(agent.ToolFunc) agent.ToolFunc {
		return func(context.Context, *agent.Turn, agent.ToolCall) (agent.Result, error) { panic("stage") }
	}}
	catch := agent.Middleware{Name: "catch", WrapTool: func(next agent.ToolFunc) agent.ToolFunc {
		return func(ctx context.Context, tn *agent.Turn, c agent.ToolCall) (agent.Result, error) {
			r, err := next(ctx, tn, c)
			if err != nil {
				return agent.ErrorResult("caught: " + err.Error()), nil
			}
			return r, nil
		}
	}}
	cases := []struct {
		name, call, args string
		chain            []agent.Middleware
		says             string // what the model reads
		fails            string // what the run's error says; "" when it goes on
	}{
		{"unknown tool", "nothing", `{}`, nil, `there is no tool named "nothing". Tools: err, panic.`, ""},
		{"invalid arguments", "err", `{"a":`, nil, `the arguments of "err" are not a JSON object (unexpected end`, ""},
		{"arguments of another shape", "err", `[1]`, nil, "not a JSON object", ""},
		{"error", "err", `{}`, nil, "no disk", "tool err: no disk"},
		{"panic", "panic", `{}`, nil, "panic: boom", "tool panic: panic: boom"},
		{"panic which a stage sees", "panic", `{}`, []agent.Middleware{catch}, "caught: panic: boom", ""},
		{"panic of a stage", "err", `{}`, []agent.Middleware{wrapPanic}, "panic: stage", "tool err: panic: stage"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a := &agent.Agent{Model: script(agenttest.Call("c", c.call, c.args)), Chain: c.chain, Tools: []*agent.Tool{
				tool("err", func(context.Context, *agent.Turn, agent.ToolCall) (agent.Result, error) {
					return agent.Result{}, broken
				}),
				tool("panic", func(context.Context, *agent.Turn, agent.ToolCall) (agent.Result, error) { panic("boom") }),
			}}
			turn := agenttest.Turn("hi", &agenttest.Sink{})
			out, err := a.Run(t.Context(), turn)
			if c.fails == "" && err != nil || c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)) {
				t.Fatalf("err = %v, want %q", err, c.fails)
			}
			m := turn.State.Messages[2]
			if m.ToolCallID != "c" || m.Status != "error" || !strings.Contains(m.Content.Text, c.says) {
				t.Errorf("the model reads %+v", m)
			}
			if c.fails != "" && strings.Join(out.Next, ",") != "model" {
				t.Errorf("next = %v", out.Next)
			}
		})
	}
}

func TestResultsPatchStateAsOneStep(t *testing.T) {
	present := tool("present", func(_ context.Context, _ *agent.Turn, c agent.ToolCall) (agent.Result, error) {
		r := agent.Result{Content: agent.Text("ok"), Artifact: json.RawMessage(`{"n":1}`),
			Kwargs: map[string]any{"k": c.ID}}
		r.Patch.Artifacts = []string{"/" + c.ID, "/shared"}
		if c.ID == "c1" {
			r.Patch.Sandbox = &agent.SandboxRef{ID: "other"} // refused: the call's result stands, its change does not
		}
		return r, nil
	})
	sink := &agenttest.Sink{}
	turn := agenttest.Turn("hi", sink)
	turn.State.Sandbox = &agent.SandboxRef{ID: "local:t1"}
	a := &agent.Agent{Model: script(calls("present", 3)), Tools: []*agent.Tool{present}}
	must.Get(a.Run(t.Context(), turn))(t)
	step := sink.Steps()[1]
	if got := strings.Join(step.Patch.Artifacts, " "); got != "/c0 /shared /c2" || len(step.Patch.Messages) != 3 ||
		step.Patch.Sandbox != nil {
		t.Errorf("wrote %s and %s", got, brief(t, step.Patch.Messages))
	}
	if m := step.Patch.Messages[2]; string(m.Artifact) != `{"n":1}` || m.Kwargs["k"] != "c2" || m.Status != "success" {
		t.Errorf("message %+v", m)
	}
	agenttest.NoRewrites(t, sink.Steps(), human("h1", "hi"))
}

func TestQuestionEndsTheRunAfterItsNeighbours(t *testing.T) {
	ask := tool("ask_clarification", func(context.Context, *agent.Turn, agent.ToolCall) (agent.Result, error) {
		return agent.Result{Content: agent.Text("which?"), Artifact: json.RawMessage(`{"human_input":{}}`),
			End: true}, nil
	})
	sink := &agenttest.Sink{}
	a := &agent.Agent{Model: script(agenttest.Call("q", "ask_clarification", "{}", "e", "echo", "{}")),
		Tools: []*agent.Tool{ask, agenttest.Echo("echo")}}
	out, err := a.Run(t.Context(), agenttest.Turn("hi", sink))
	if err != nil || !slices.Equal(out.Next, []string{agent.NodeInterrupt}) {
		t.Fatalf("%+v, %v", out, err)
	}
	got := shape(t, sink.Steps())
	if got != "model>tools[ai: #m1 q=ask_clarification{} e=echo{}] tools>__interrupt__[tool:which? #"+
		sink.Steps()[1].Patch.Messages[0].ID+" >q success | tool:{} #"+sink.Steps()[1].Patch.Messages[1].ID+
		" >e success]" {
		t.Errorf("steps = %s", got)
	}
}

func TestEndResultSkipsTheModel(t *testing.T) {
	model := script(agenttest.Call("c", "stop", "{}"))
	stop := tool("stop", func(context.Context, *agent.Turn, agent.ToolCall) (agent.Result, error) {
		return agent.Result{End: true}, nil
	})
	must.Get((&agent.Agent{Model: model, Tools: []*agent.Tool{stop}}).Run(t.Context(),
		agenttest.Turn("hi", &agenttest.Sink{})))(t)
	if n := len(model.Requests()); n != 1 {
		t.Errorf("%d model calls", n)
	}
}

func TestResumeAtToolsNeverRunsAFinishedCallAgain(t *testing.T) {
	d := &diary{}
	run := tool("run", func(_ context.Context, _ *agent.Turn, c agent.ToolCall) (agent.Result, error) {
		d.add("%s", c.ID)
		return agent.TextResult("fresh"), nil
	})
	sink := &agenttest.Sink{}
	turn := agenttest.Turn("hi", sink)
	caller := ai("a1", "")
	for _, id := range []string{"stored", "known", "lost", "open"} {
		caller.AddCall(id, "run", "{}")
	}
	turn.State.Messages = append(turn.State.Messages, caller, result("r0", "stored", "in the log"))
	turn.From = []string{agent.NodeTools}
	turn.Results = map[string]agent.Result{
		"known": {Content: agent.Text("recorded"), MessageID: "shown-1", Patch: agent.State{Artifacts: []string{"/a"}}},
		"lost":  agent.ErrorResult(agent.InterruptedResult),
	}
	a := &agent.Agent{Model: script(), Tools: []*agent.Tool{run}}
	must.Get(a.Run(t.Context(), turn))(t)
	if d.String() != "open" {
		t.Errorf("ran %s", d)
	}
	step := sink.Steps()[0]
	got := list(step.Patch.Messages)
	if !strings.HasPrefix(got, "shown-1:recorded ") || !strings.HasSuffix(got, ":fresh") ||
		len(step.Patch.Messages) != 3 {
		t.Errorf("wrote %s", got)
	}
	if step.Node != agent.NodeTools || len(step.Patch.Artifacts) != 1 || step.Patch.Messages[1].Status != "error" {
		t.Errorf("step %+v", step)
	}
	for _, ev := range sink.Events() {
		if ev.Kind != agent.EventChunk && ev.Call.ID != "open" {
			t.Errorf("recorded again: %+v", ev)
		}
	}
}

func TestResumeAtToolsWithNothingOpenGoesToTheModel(t *testing.T) {
	for name, msgs := range map[string][]*agent.Message{
		"no caller":    {human("h", "hi")},
		"all answered": {human("h", "hi"), ai("a", "", "c"), result("r", "c", "x")},
	} {
		t.Run(name, func(t *testing.T) {
			sink := &agenttest.Sink{}
			turn := agenttest.Turn("hi", sink)
			turn.State.Messages, turn.From = msgs, []string{agent.NodeTools}
			must.Get((&agent.Agent{Model: script()}).Run(t.Context(), turn))(t)
			if got := shape(t, sink.Steps()); got != "model>[ai:done. #m1]" {
				t.Errorf("steps = %s", got)
			}
		})
	}
}

func TestStartIsDurableBeforeTheToolAndResultBeforeTheStep(t *testing.T) {
	d := &diary{}
	sink := &watched{
		onRecord: func(_ context.Context, ev agent.Event) error {
			switch ev.Kind {
			case agent.EventToolStart:
				d.add("start:%s%s", ev.Call.Name, ev.Call.Args)
			case agent.EventToolResult:
				d.add("result:%s:%s", ev.Message, ev.Result.Content.Text)
			}
			return nil
		},
		onStep: func(_ context.Context, s agent.Step) error { d.add("step:%s", s.Node); return nil },
	}
	run := tool("run", func(_ context.Context, tn *agent.Turn, c agent.ToolCall) (agent.Result, error) {
		d.add("run")
		tn.Sink.Emit(agent.Event{Kind: agent.EventToolOutput, Call: c, Data: json.RawMessage(`"x"`)})
		return agent.TextResult("ok"), nil
	})
	turn := agenttest.Turn("hi", sink)
	a := &agent.Agent{Model: script(agenttest.Call("c", "run", `{"a":1}`)), Tools: []*agent.Tool{run}}
	must.Get(a.Run(t.Context(), turn))(t)
	want := fmt.Sprintf(`step:model start:run{"a":1} run result:%s:ok step:tools step:model`, turn.State.Messages[2].ID)
	if d.String() != want {
		t.Errorf("\n got %s\nwant %s", d, want)
	}
}
