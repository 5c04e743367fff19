package agent_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
)

var errStop = errors.New("the user pressed stop")

func TestCancelKeepsPartialAnswer(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	sink := &watched{onEmit: func(ev agent.Event) {
		if ev.Chunk.Text == "answer" {
			cancel(errStop)
		}
	}}
	reply := agenttest.Reply{Chunks: []agent.Chunk{{Text: "half "}, {Text: "answer"}}, Hang: true}
	turn := agenttest.Turn("hi", sink)
	a := &agent.Agent{Model: script(reply), Chain: []agent.Middleware{{
		BeforeModel: func(context.Context, *agent.Turn) (agent.State, error) {
			return agent.State{Title: str("t")}, nil
		},
		AfterModel: func(context.Context, *agent.Turn, *agent.Reply) error {
			t.Error("a stage sees half an answer as an answer")
			return nil
		},
		AfterAgent: func(context.Context, *agent.Turn) (agent.State, error) {
			t.Error("a cancelled run has no regular end")
			return agent.State{}, nil
		},
	}}}
	out, err := a.Run(ctx, turn)
	if !errors.Is(err, errStop) || strings.Join(out.Next, ",") != "model" {
		t.Fatalf("%+v, %v", out, err)
	}
	steps := sink.Steps()
	if got := shape(t, steps); got != "model>model[ai:half answer #m1]" {
		t.Fatalf("steps = %s", got)
	}
	m := steps[0].Patch.Messages[0]
	if m.Meta["finish_reason"] != agent.FinishInterrupted || *steps[0].Patch.Title != "t" {
		t.Errorf("stored %+v with %+v", m, steps[0].Patch)
	}

	// A run without input goes on behind the half answer.
	a.Chain, turn.From = nil, out.Next
	must.Get(a.Run(t.Context(), turn))(t)
	if got := list(turn.State.Messages); got != "h1:hi m1:half answer m2:done." {
		t.Errorf("log = %s", got)
	}
}

func TestCancelBeforeAnythingWasSeenStoresNothing(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errStop)
	sink := &agenttest.Sink{}
	out, err := (&agent.Agent{Model: script()}).Run(ctx, agenttest.Turn("hi", sink))
	if !errors.Is(err, errStop) || strings.Join(out.Next, ",") != "model" || len(sink.Steps()) != 0 {
		t.Errorf("%+v, %v, %s", out, err, shape(t, sink.Steps()))
	}
}

func TestCancelDuringToolsKeepsFinishedResultsAndClosesOpenCalls(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	started := make(chan struct{})
	slow := tool("slow", func(ctx context.Context, _ *agent.Turn, _ agent.ToolCall) (agent.Result, error) {
		close(started)
		<-ctx.Done()
		return agent.Result{}, ctx.Err()
	})
	quick := tool("quick", func(context.Context, *agent.Turn, agent.ToolCall) (agent.Result, error) {
		return agent.Result{Content: agent.Text("made it"), Patch: agent.State{Artifacts: []string{"/a"}}}, nil
	})
	sink := &watched{onRecord: func(ctx context.Context, ev agent.Event) error {
		if ev.Kind == agent.EventToolResult && ev.Call.Name == "quick" {
			<-started
			cancel(errStop)
		}
		return ctx.Err()
	}}
	turn := agenttest.Turn("hi", sink)
	model := script(agenttest.Call("s", "slow", "{}", "q", "quick", "{}"))
	a := &agent.Agent{Model: model, Tools: []*agent.Tool{slow, quick}}
	out, err := a.Run(ctx, turn)
	if !errors.Is(err, errStop) || strings.Join(out.Next, ",") != "model" {
		t.Fatalf("%+v, %v", out, err)
	}
	steps := sink.Steps()
	if len(steps) != 2 {
		t.Fatalf("steps = %s", shape(t, steps))
	}
	p := steps[1].Patch
	want := "tool:" + agent.InterruptedResult + " #" + p.Messages[0].ID + " >s error | tool:made it #" +
		p.Messages[1].ID + " >q success"
	if got := brief(t, p.Messages); got != want || strings.Join(p.Artifacts, "") != "/a" {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	if n := len(model.Requests()); n != 1 {
		t.Errorf("%d model calls", n)
	}
	recorded := 0
	for _, ev := range sink.Events() {
		if ev.Kind == agent.EventToolResult {
			recorded++
		}
	}
	if recorded != 2 {
		t.Errorf("%d results recorded", recorded)
	}
	if open := agent.Unanswered(turn.State.Messages[1], turn.State.Messages[2:]); len(open) > 0 {
		t.Errorf("calls are left open: %v", open)
	}
}

func TestCancelBetweenStepsClosesCallsWithoutRunningThem(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	sink := &watched{onStep: func(context.Context, agent.Step) error { cancel(errStop); return nil }}
	never := tool("never", func(context.Context, *agent.Turn, agent.ToolCall) (agent.Result, error) {
		t.Error("a tool runs after the cancel")
		return agent.Result{}, nil
	})
	_, err := (&agent.Agent{Model: script(calls("never", 2)), Tools: []*agent.Tool{never}}).Run(ctx,
		agenttest.Turn("hi", sink))
	if !errors.Is(err, errStop) {
		t.Fatalf("err = %v", err)
	}
	steps := sink.Steps()
	if len(steps) != 2 || len(steps[1].Patch.Messages) != 2 || strings.Join(steps[1].Next, ",") != "model" {
		t.Errorf("steps = %s", shape(t, steps))
	}
	for _, ev := range sink.Events() {
		if ev.Kind == agent.EventToolStart {
			t.Errorf("start recorded: %+v", ev.Call)
		}
	}
}

func TestCancelDoesNotTearAStep(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	sink := &watched{onStep: func(ctx context.Context, _ agent.Step) error {
		cancel(errStop) // arrives while the answer is being stored
		return ctx.Err()
	}}
	out, err := (&agent.Agent{Model: script(agenttest.Say("whole"))}).Run(ctx, agenttest.Turn("hi", sink))
	if err != nil || len(out.Next) != 0 {
		t.Errorf("%+v, %v", out, err)
	}
	if got := shape(t, sink.Steps()); got != "model>[ai:whole #m1]" {
		t.Errorf("steps = %s", got)
	}
}

func TestLastWritesOfACancelledRunHaveALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		sink := &watched{onStep: func(ctx context.Context, _ agent.Step) error {
			<-ctx.Done() // a store that hangs
			return ctx.Err()
		}}
		start := time.Now()
		time.AfterFunc(time.Minute, func() { cancel(errStop) })
		_, err := (&agent.Agent{Model: script(agenttest.Say("x"))}).Run(ctx, agenttest.Turn("hi", sink))
		if err == nil {
			t.Error("a step that was never stored counts as stored")
		}
		if took := time.Since(start); took != time.Minute+5*time.Second {
			t.Errorf("the run ended after %v", took)
		}
	})
}

func TestNothingIsEmittedAfterRunReturned(t *testing.T) { synctest.Test(t, nothingAfterRun) }

func nothingAfterRun(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	var over atomic.Bool
	late := func() {
		if over.Load() {
			t.Error("something was emitted after Run returned")
		}
	}
	chatty := make(chan struct{}, 100)
	sink := &watched{
		onEmit:   func(agent.Event) { late() },
		onRecord: func(context.Context, agent.Event) error { late(); return nil },
		onStep:   func(context.Context, agent.Step) error { late(); return nil },
	}
	talk := tool("talk", func(ctx context.Context, tn *agent.Turn, c agent.ToolCall) (agent.Result, error) {
		for ctx.Err() == nil {
			tn.Sink.Emit(agent.Event{Kind: agent.EventToolOutput, Call: c})
			select {
			case chatty <- struct{}{}:
			default:
				cancel(errStop)
			}
		}
		tn.Sink.Emit(agent.Event{Kind: agent.EventToolOutput, Call: c})
		return agent.TextResult("stopped"), nil
	})
	_, err := (&agent.Agent{Model: script(calls("talk", 20)), Tools: []*agent.Tool{talk}}).Run(ctx,
		agenttest.Turn("hi", sink))
	over.Store(true)
	if !errors.Is(err, errStop) {
		t.Fatalf("err = %v", err)
	}
	synctest.Wait() // a goroutine which was left behind shows itself now
	if n := len(sink.Steps()); n != 2 {
		t.Errorf("%d steps", n)
	}
}
