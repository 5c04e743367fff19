package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
)

// watched is a sink which tells a test what comes, before it keeps it.
type watched struct {
	agenttest.Sink
	onEmit   func(agent.Event)
	onRecord func(context.Context, agent.Event) error
	onStep   func(context.Context, agent.Step) error
}

func (w *watched) Emit(ev agent.Event) {
	if w.onEmit != nil {
		w.onEmit(ev)
	}
	w.Sink.Emit(ev)
}

func (w *watched) Record(ctx context.Context, ev agent.Event) error {
	if w.onRecord != nil {
		if err := w.onRecord(ctx, ev); err != nil {
			return err
		}
	}
	return w.Sink.Record(ctx, ev)
}

func (w *watched) Step(ctx context.Context, s agent.Step) error {
	if w.onStep != nil {
		if err := w.onStep(ctx, s); err != nil {
			return err
		}
	}
	return w.Sink.Step(ctx, s)
}

// shape writes steps as "node>next[messages of the patch]".
func shape(t testing.TB, steps []agenttest.Step) string {
	t.Helper()
	out := make([]string, len(steps))
	for i, s := range steps {
		out[i] = fmt.Sprintf("%s>%s[%s]", s.Node, strings.Join(s.Next, ","), brief(t, s.Patch.Messages))
	}
	return strings.Join(out, " ")
}

func script(replies ...agenttest.Reply) *agenttest.Script {
	return &agenttest.Script{Replies: replies}
}

// diary is a log many goroutines write.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) add(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

func (d *diary) String() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.lines, " ")
}

// writing is a stage which writes every hook's call down.
func writing(name string, d *diary) agent.Middleware {
	return agent.Middleware{
		Name: name,
		BeforeAgent: func(context.Context, *agent.Turn) (agent.State, error) {
			d.add("%s.start", name)
			return agent.State{}, nil
		},
		BeforeModel: func(context.Context, *agent.Turn) (agent.State, error) {
			d.add("%s.before", name)
			return agent.State{}, nil
		},
		WrapModel: func(next agent.ModelFunc) agent.ModelFunc {
			return func(ctx context.Context, t *agent.Turn, req *agent.Request) (*agent.Message, error) {
				d.add("%s.model(", name)
				m, err := next(ctx, t, req)
				d.add(")%s.model", name)
				return m, err
			}
		},
		AfterModel: func(context.Context, *agent.Turn, *agent.Reply) error { d.add("%s.after", name); return nil },
		WrapTool: func(next agent.ToolFunc) agent.ToolFunc {
			return func(ctx context.Context, t *agent.Turn, c agent.ToolCall) (agent.Result, error) {
				d.add("%s.tool(", name)
				r, err := next(ctx, t, c)
				d.add(")%s.tool", name)
				return r, err
			}
		},
		AfterAgent: func(context.Context, *agent.Turn) (agent.State, error) {
			d.add("%s.end", name)
			return agent.State{}, nil
		},
	}
}

func TestHooksRunInOrder(t *testing.T) {
	d := &diary{}
	a := &agent.Agent{Model: script(agenttest.Call("c", "echo", `{}`), agenttest.Say("ok")),
		Tools: []*agent.Tool{agenttest.Echo("echo")},
		Chain: []agent.Middleware{writing("A", d), {Name: "idle"}, writing("B", d)}}
	must.Get(a.Run(t.Context(), agenttest.Turn("hi", &agenttest.Sink{})))(t)
	const model = "A.before B.before A.model( B.model( )B.model )A.model B.after A.after"
	want := "A.start B.start " + model + " A.tool( B.tool( )B.tool )A.tool " + model + " B.end A.end"
	if d.String() != want {
		t.Errorf("\n got %s\nwant %s", d, want)
	}
}

func str(s string) *string { return &s }

func TestBeforeHooksJoinTheFirstStep(t *testing.T) {
	sink := &agenttest.Sink{}
	var seen string
	a := &agent.Agent{Model: script(), Chain: []agent.Middleware{
		{Name: "one", BeforeAgent: func(context.Context, *agent.Turn) (agent.State, error) {
			return agent.State{Title: str("t"), Artifacts: []string{"/a"}}, nil
		}},
		{Name: "two", BeforeModel: func(_ context.Context, tn *agent.Turn) (agent.State, error) {
			seen = *tn.State.Title + tn.State.Artifacts[0]
			return agent.State{Artifacts: []string{"/b"},
				Notes: []agent.Note{{ID: "n", Message: "h1", Place: agent.Before, Text: "x"}}}, nil
		}},
	}}
	must.Get(a.Run(t.Context(), agenttest.Turn("hi", sink)))(t)
	steps := sink.Steps()
	if got := shape(t, steps); got != "model>[ai:done. #m1]" {
		t.Fatalf("steps = %s", got)
	}
	p := steps[0].Patch
	if seen != "t/a" || *p.Title != "t" || strings.Join(p.Artifacts, " ") != "/a /b" || len(p.Notes) != 1 {
		t.Errorf("a later hook saw %q, the step wrote %+v", seen, p)
	}
	if req := a.Model.(*agenttest.Script).Requests(); list(req[0].Messages) != "note:n:x h1:hi" {
		t.Errorf("sent %s", list(req[0].Messages))
	}
	agenttest.NoRewrites(t, steps, human("h1", "hi"))
}

func TestAfterModelChangesTheAnswerBeforeItIsStored(t *testing.T) {
	sink := &agenttest.Sink{}
	a := &agent.Agent{Model: script(agenttest.Say("draft")), Chain: []agent.Middleware{
		{Name: "outer", AfterModel: func(_ context.Context, _ *agent.Turn, r *agent.Reply) error {
			r.Message = r.Message.With("seen", r.Message.Content.Text)
			r.Patch.Title, r.StopReason = str("t"), "loop_capped"
			return nil
		}},
		{Name: "inner", AfterModel: func(_ context.Context, tn *agent.Turn, r *agent.Reply) error {
			if tn.State.Message(r.Message.ID) != nil {
				t.Error("the answer was stored before the stages saw it")
			}
			c := *r.Message
			c.Content = agent.Text("final")
			r.Message = &c
			return nil
		}},
	}}
	out, err := a.Run(t.Context(), agenttest.Turn("hi", sink))
	if err != nil || out.StopReason != "loop_capped" {
		t.Fatalf("%+v, %v", out, err)
	}
	steps := sink.Steps()
	if got := shape(t, steps); got != "model>[ai:final #m1]" {
		t.Errorf("steps = %s", got)
	}
	if m := steps[0].State.Message("m1"); m.Kwargs["seen"] != "final" || *steps[0].Patch.Title != "t" {
		t.Errorf("stored %+v", m)
	}
}

func TestAfterAgentMakesTheEndStep(t *testing.T) {
	sink := &agenttest.Sink{}
	a := &agent.Agent{Model: script(), Chain: []agent.Middleware{
		{Name: "title", AfterAgent: func(context.Context, *agent.Turn) (agent.State, error) { return agent.State{Title: str("t")}, nil }},
		{Name: "memory", AfterAgent: func(_ context.Context, tn *agent.Turn) (agent.State, error) {
			if tn.State.Title != nil {
				t.Error("after_agent hooks run in list order")
			}
			return agent.State{Artifacts: []string{"/a"}}, nil
		}},
	}}
	out, err := a.Run(t.Context(), agenttest.Turn("hi", sink))
	if err != nil || len(out.Next) != 0 {
		t.Fatalf("%+v, %v", out, err)
	}
	steps := sink.Steps()
	if got := shape(t, steps); got != "model>[ai:done. #m1] __end__>[]" {
		t.Fatalf("steps = %s", got)
	}
	if p := steps[1].Patch; *p.Title != "t" || len(p.Artifacts) != 1 || p.Messages != nil {
		t.Errorf("end step wrote %+v", p)
	}
}

func TestJumps(t *testing.T) {
	jump := func(to agent.Jump, times int) agent.Middleware {
		return agent.Middleware{Name: "jump", AfterModel: func(_ context.Context, _ *agent.Turn, r *agent.Reply) error {
			if times > 0 {
				times--
				r.Jump = to
			}
			return nil
		}}
	}
	cases := []struct {
		name  string
		jump  agent.Middleware
		first agenttest.Reply
		max   int
		want  string
	}{
		{"to the model", jump(agent.ToModel, 1), agenttest.Say("a"), 0, "model>model[ai:a #m1] model>[ai:done. #m2]"},
		{"to the model past calls", jump(agent.ToModel, 1), agenttest.Call("c", "echo", "{}"), 0, "model>model[ai: #m1 c=echo{}] model>[ai:done. #m2]"},
		{"to the end past calls", jump(agent.ToEnd, 1), agenttest.Call("c", "echo", "{}"), 0, "model>tools[ai: #m1 c=echo{}]"},
		{"never past the last turn", jump(agent.ToModel, 1000), agenttest.Say("a"), 2, "model>model[ai:a #m1] model>model[ai:done. #m2] model>[ai:done. #m3]"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			sink := &agenttest.Sink{}
			turn := agenttest.Turn("hi", sink)
			turn.MaxSteps = c.max
			a := &agent.Agent{Model: script(c.first), Tools: []*agent.Tool{agenttest.Echo("echo")},
				Chain: []agent.Middleware{c.jump}}
			must.Get(a.Run(t.Context(), turn))(t)
			if got := shape(t, sink.Steps()); got != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestStepLimitEndsWithATurnWithoutTools(t *testing.T) {
	call := agenttest.Call("c", "echo", "{}")
	stubborn := call
	stubborn.Chunks = append([]agent.Chunk{{Text: "so far"}}, call.Chunks...)
	model, sink := script(call, call, stubborn), &agenttest.Sink{}
	turn := agenttest.Turn("hi", sink)
	turn.MaxSteps = 3
	a := &agent.Agent{Model: model, Tools: []*agent.Tool{agenttest.Echo("echo")}}
	out, err := a.Run(t.Context(), turn)
	if err != nil || out.StopReason != "recursion_limit" || len(out.Next) != 0 {
		t.Fatalf("%+v, %v", out, err)
	}
	steps := sink.Steps()
	if got := shape(t, steps); !strings.HasSuffix(got, " model>[ai:so far #m5]") || len(steps) != 5 {
		t.Errorf("steps = %s", got)
	}
	reqs := model.Requests()
	last := reqs[len(reqs)-1]
	if len(reqs) != 3 || len(reqs[1].Tools) != 1 || last.Tools != nil {
		t.Errorf("%d requests, the last with %d tools", len(reqs), len(last.Tools))
	}
	if m := last.Messages[len(last.Messages)-1]; m.Type != agent.TypeHuman || m.Name != "last_turn" {
		t.Errorf("the model is not told: %+v", m)
	}
	if s := steps[4].State; s.Message("note:limit") != nil {
		t.Error("the notice went to the log")
	}
}

func TestWrapModelChangesOnlyTheRequest(t *testing.T) {
	model, sink := script(), &agenttest.Sink{}
	a := &agent.Agent{Model: model, System: "sys", Tools: []*agent.Tool{agenttest.Echo("echo")},
		Chain: []agent.Middleware{{
			Name: "edit", WrapModel: func(next agent.ModelFunc) agent.ModelFunc {
				return func(ctx context.Context, tn *agent.Turn, req *agent.Request) (*agent.Message, error) {
					req.System += "+"
					req.Messages[0] = human("x", "other")
					req.Tools = slices.Delete(req.Tools, 0, 1)
					return next(ctx, tn, req)
				}
			},
		}}}
	turn := agenttest.Turn("hi", sink)
	for range 2 {
		must.Get(a.Run(t.Context(), turn))(t)
	}
	if reqs := model.Requests(); reqs[1].System != "sys+" || len(reqs[1].Tools) != 0 || reqs[1].Messages[0].ID != "x" {
		t.Errorf("sent %+v", reqs[1])
	}
	if got := list(turn.State.Messages); got != "h1:hi m1:done. m2:done." || a.Tools[0] == nil {
		t.Errorf("the log became %s, the tools %v", got, a.Tools)
	}
}

func TestChunksCarryTheStoredID(t *testing.T) {
	sink := &agenttest.Sink{}
	flaky := agenttest.Reply{Err: errors.New("busy")}
	a := &agent.Agent{Model: script(flaky, agenttest.Say("a", "b")), Chain: []agent.Middleware{{
		Name: "retry", WrapModel: func(next agent.ModelFunc) agent.ModelFunc {
			return func(ctx context.Context, tn *agent.Turn, req *agent.Request) (*agent.Message, error) {
				if m, err := next(ctx, tn, req); err == nil {
					return m, nil
				}
				return next(ctx, tn, req)
			}
		},
	}}}
	turn := agenttest.Turn("hi", sink)
	turn.NS = "tools:c9"
	must.Get(a.Run(t.Context(), turn))(t)
	stored := turn.State.Messages[1].ID
	events := sink.Events()
	if len(events) != 3 {
		t.Fatalf("%d events", len(events))
	}
	for _, ev := range events {
		if ev.Kind != agent.EventChunk || ev.Message != stored || ev.NS != "tools:c9" {
			t.Errorf("event %+v, stored id %s", ev, stored)
		}
	}
	if stored == "m1" {
		t.Error("the retry has the id of the first try")
	}
}
