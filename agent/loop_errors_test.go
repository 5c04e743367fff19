package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
)

var errHook = errors.New("hook is broken")

func TestHookErrorsKeepWhatWasSeen(t *testing.T) {
	write := func(context.Context, *agent.Turn) (agent.State, error) { return agent.State{Title: str("t")}, nil }
	fail := func(context.Context, *agent.Turn) (agent.State, error) { return agent.State{}, errHook }
	refused := func(context.Context, *agent.Turn) (agent.State, error) {
		return agent.State{Messages: []*agent.Message{remove("nobody")}}, nil
	}
	after := func(f func(r *agent.Reply) error) func(context.Context, *agent.Turn, *agent.Reply) error {
		return func(_ context.Context, _ *agent.Turn, r *agent.Reply) error { return f(r) }
	}
	cases := []struct {
		name  string
		chain []agent.Middleware
		err   error
		steps string
		next  string
	}{
		{"before agent", []agent.Middleware{{Name: "ok", BeforeAgent: write}, {Name: "bad", BeforeAgent: fail}}, errHook, "model>model[]", "model"},
		{"before agent, nothing seen", []agent.Middleware{{Name: "bad", BeforeAgent: fail}}, errHook, "", "model"},
		{"before agent, patch refused", []agent.Middleware{{Name: "bad", BeforeAgent: refused}}, agent.ErrUnknownMessage, "", "model"},
		{"before model", []agent.Middleware{{Name: "ok", BeforeAgent: write}, {Name: "bad", BeforeModel: fail}}, errHook, "model>model[]", "model"},
		{"after model", []agent.Middleware{{Name: "bad", AfterModel: after(func(*agent.Reply) error { return errHook })}}, errHook, "model>model[ai:so long #m1]", "model"},
		{"after model, answer swallowed", []agent.Middleware{{Name: "bad", AfterModel: after(func(r *agent.Reply) error { r.Message = nil; return nil })}}, nil, "model>model[ai:so long #m1]", "model"},
		{"after model, patch refused", []agent.Middleware{{Name: "bad", AfterModel: after(func(r *agent.Reply) error {
			r.Patch.Messages = []*agent.Message{remove("nobody")}
			return nil
		})}}, agent.ErrUnknownMessage, "model>[ai:so long #m1]", ""},
		{"model call swallowed", []agent.Middleware{{Name: "bad", WrapModel: func(agent.ModelFunc) agent.ModelFunc {
			return func(context.Context, *agent.Turn, *agent.Request) (*agent.Message, error) { return nil, nil }
		}}}, nil, "", "model"},
		{"after agent", []agent.Middleware{{Name: "bad", AfterAgent: fail}, {Name: "ok", AfterAgent: write}}, errHook, "model>[ai:so long #m1] __end__>[]", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			sink := &agenttest.Sink{}
			a := &agent.Agent{Model: script(agenttest.Say("so ", "long")), Chain: c.chain}
			out, err := a.Run(t.Context(), agenttest.Turn("hi", sink))
			if err == nil || c.err != nil && !errors.Is(err, c.err) {
				t.Fatalf("err = %v, want %v", err, c.err)
			}
			if errors.Is(err, errHook) && !strings.Contains(err.Error(), "bad: ") {
				t.Errorf("%q does not name the stage", err)
			}
			if got := shape(t, sink.Steps()); got != c.steps {
				t.Errorf("\n got %s\nwant %s", got, c.steps)
			}
			if got := strings.Join(out.Next, ","); got != c.next {
				t.Errorf("next = %q, want %q", got, c.next)
			}
			for _, s := range sink.Steps() {
				if s.Patch.Messages == nil && (s.Patch.Title == nil || *s.State.Title != "t") {
					t.Errorf("step without what was seen: %+v", s)
				}
			}
		})
	}
}

func TestAnswerOfABrokenStageOpensNoCalls(t *testing.T) {
	sink := &agenttest.Sink{}
	reply := agenttest.Call("c", "echo", "{}", "d", "echo", "{")
	reply.Chunks = append([]agent.Chunk{{Text: "I will look"}}, reply.Chunks...)
	a := &agent.Agent{Model: script(reply), Chain: []agent.Middleware{{Name: "bad",
		AfterModel: func(context.Context, *agent.Turn, *agent.Reply) error { return errHook }}}}
	if _, err := a.Run(t.Context(), agenttest.Turn("hi", sink)); !errors.Is(err, errHook) {
		t.Fatalf("err = %v", err)
	}
	if got := shape(t, sink.Steps()); got != "model>model[ai:I will look #m1]" {
		t.Errorf("steps = %s", got)
	}
}

func TestProviderErrorKeepsWhatWasShown(t *testing.T) {
	gone := errors.New("connection lost")
	call := agenttest.Call("c", "echo", "{}").Chunks[0]
	cases := []struct {
		name   string
		chunks []agent.Chunk
		steps  string
	}{
		{"text", []agent.Chunk{{Text: "half ", Model: "big"}, {Text: "an"}}, "model>model[ai:half an #m1]"},
		{"text and a call", []agent.Chunk{{Text: "half", Model: "big"}, call}, "model>model[ai:half #m1]"},
		{"thoughts", []agent.Chunk{{Reasoning: "hm", Model: "big"}}, "model>model[ai: #m1]"},
		{"a call only", []agent.Chunk{call}, ""},
		{"nothing", nil, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			sink := &agenttest.Sink{}
			a := &agent.Agent{Model: script(agenttest.Reply{Chunks: c.chunks, Err: gone}),
				Tools: []*agent.Tool{agenttest.Echo("echo")}}
			out, err := a.Run(t.Context(), agenttest.Turn("hi", sink))
			if !errors.Is(err, gone) || strings.Join(out.Next, ",") != "model" {
				t.Fatalf("%+v, %v", out, err)
			}
			steps := sink.Steps()
			if got := shape(t, steps); got != c.steps {
				t.Fatalf("\n got %s\nwant %s", got, c.steps)
			}
			if len(steps) == 0 {
				return
			}
			m := steps[0].Patch.Messages[0]
			if m.Meta["finish_reason"] != agent.FinishInterrupted || m.Meta["model_name"] != "big" || len(m.Meta) != 2 {
				t.Errorf("meta = %v", m.Meta)
			}
			s := steps[0].State
			if got := agent.Next(&s, agent.NodeModel); strings.Join(got, ",") != "model" {
				t.Errorf("a run with no input would run %v", got)
			}
		})
	}
}

func TestSinkFailureEndsTheRun(t *testing.T) {
	full := errors.New("disk full")
	failStep := func(node string) *watched {
		return &watched{onStep: func(_ context.Context, s agent.Step) error {
			if s.Node == node {
				return full
			}
			return nil
		}}
	}
	failRecord := func(kind agent.EventKind) *watched {
		return &watched{onRecord: func(_ context.Context, ev agent.Event) error {
			if ev.Kind == kind {
				return full
			}
			return nil
		}}
	}
	cases := []struct {
		name  string
		sink  *watched
		ran   int
		steps string
	}{
		{"model step", failStep(agent.NodeModel), 0, ""},
		{"tools step", failStep(agent.NodeTools), 1, "model>tools[ai: #m1 c=count{}]"},
		{"end step", failStep(agent.NodeEnd), 1, "model>tools[ai: #m1 c=count{}] tools>model[tool:ran #m2 >c success] model>[ai:done. #m3]"},
		{"start of a tool", failRecord(agent.EventToolStart), 0, "model>tools[ai: #m1 c=count{}] tools>model[tool:" + agent.InterruptedResult + " #m2 >c error]"},
		{"result of a tool", failRecord(agent.EventToolResult), 1, "model>tools[ai: #m1 c=count{}] tools>model[tool:ran #m2 >c success]"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			ran := 0
			a := &agent.Agent{Model: script(agenttest.Call("c", "count", "{}")), Tools: []*agent.Tool{{Name: "count",
				Run: func(context.Context, *agent.Turn, agent.ToolCall) (agent.Result, error) {
					ran++
					return agent.TextResult("ran"), nil
				}}},
				Chain: []agent.Middleware{{Name: "end",
					AfterAgent: func(context.Context, *agent.Turn) (agent.State, error) {
						return agent.State{Title: str("t")}, nil
					}}}}
			_, err := a.Run(t.Context(), agenttest.Turn("hi", c.sink))
			if !errors.Is(err, full) {
				t.Fatalf("err = %v", err)
			}
			if ran != c.ran {
				t.Errorf("the tool ran %d times, want %d", ran, c.ran)
			}
			if got := shape(t, c.sink.Steps()); got != c.steps {
				t.Errorf("\n got %s\nwant %s", got, c.steps)
			}
		})
	}
}
