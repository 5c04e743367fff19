package runs_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/runs"
)

// tree is an agent whose one step keeps everything busy that a run can have: tools which
// wait, and helpers with models and tools of their own, two deep. At work counts the
// leaves; all of them stop with their context and by nothing else.
type tree struct {
	leaves  int // as many are there when all has begun
	atWork  atomic.Int32
	started chan struct{} // one token for each leaf
}

func (tr *tree) leaf(ctx context.Context) error {
	tr.atWork.Add(1)
	defer tr.atWork.Add(-1)
	tr.started <- struct{}{}
	<-ctx.Done()
	return context.Cause(ctx)
}

// agent asks for a tool that waits and, above depth 0, for two helpers.
func (tr *tree) agent(depth int) *agent.Agent {
	wait := &agent.Tool{Name: "wait", Run: func(ctx context.Context, _ *agent.Turn,
		_ agent.ToolCall) (agent.Result, error) {
		return agent.Result{}, tr.leaf(ctx)
	}}
	helper := &agent.Tool{Name: "helper", Run: func(ctx context.Context, t *agent.Turn,
		c agent.ToolCall) (agent.Result, error) {
		_, err := tr.agent(depth-1).Run(ctx, &agent.Turn{ThreadID: t.ThreadID, RunID: t.RunID,
			NS: t.NS + "tools:" + c.ID, Log: t.Log, NewID: t.NewID, Sink: helperSink{t.Sink},
			State: agent.State{
				Messages: []*agent.Message{{ID: "h" + c.ID, Type: agent.TypeHuman, Content: agent.Text("help")}},
			}})
		return agent.Result{}, err
	}}
	return &agent.Agent{Tools: []*agent.Tool{wait, helper},
		Model: modelOf(func(ctx context.Context, req *agent.Request, yield func(agent.Chunk, error) bool) {
			if depth == 0 { // the last helpers hang in their model
				yield(agent.Chunk{Text: "half"}, nil)
				yield(agent.Chunk{}, tr.leaf(ctx))
				return
			}
			yield(agent.Chunk{Text: "working"}, nil)
			for i, name := range []string{"wait", "helper", "helper"} {
				if !yield(agent.Chunk{Calls: []agent.CallDelta{{Index: i, ID: fmt.Sprintf("c%d%d", depth, i),
					Name: name, Args: "{}"}}}, nil) {
					return
				}
			}
		})}
}

// helperSink lets a helper's events through and keeps its steps out of the thread.
type helperSink struct{ agent.Sink }

func (helperSink) Step(context.Context, agent.Step) error { return nil }

// CancelStopsTheWholeTree: when the cancel has been waited for, nothing of the run is at
// work any more, what was said is kept and every call is closed.
func (s suite) CancelStopsTheWholeTree(t *testing.T) {
	tr := &tree{leaves: 1 + 2*(1+2), started: make(chan struct{}, 100)}
	w := s.open(t, t.TempDir(), tr.agent(2))
	run := w.start(t, "t1", "go")
	for range tr.leaves {
		<-tr.started
	}
	if n := tr.atWork.Load(); int(n) != tr.leaves {
		t.Fatalf("%d leaves are at work", n)
	}
	begin := time.Now()
	must.Do(t, w.m.Cancel(t.Context(), "t1", run.ID, true))
	took := time.Since(begin)
	if n := tr.atWork.Load(); n != 0 {
		t.Errorf("%d leaves are still at work", n)
	}
	t.Logf("the tree stopped after %v", took)
	w.end(t, run, runs.Interrupted)
	want := "human:go\nai:working" + "\ntool:" + agent.InterruptedResult + "\ntool:" + agent.InterruptedResult +
		"\ntool:" + agent.InterruptedResult
	if got := texts(w.state(t, "t1", "")); got != want {
		t.Errorf("messages:\n%s\nwant\n%s", got, want)
	}
	w.sound(t)
}

// CancelStopsARunThatOthersWaitFor, and that readers have left behind; what is queued
// goes on.
func (s suite) CancelStopsARunThatOthersWaitFor(t *testing.T) {
	half := agenttest.Say("half")
	half.Hang = true
	w := s.open(t, t.TempDir(),
		&agent.Agent{Model: &agenttest.Script{Replies: []agenttest.Reply{half, agenttest.Say("next")}}})
	run := w.start(t, "t1", "one")
	queued := w.start(t, "t1", "two")
	w.until(t, run, text("half"))
	var wg sync.WaitGroup
	for range 20 { // who waits for it, and who reads slowly
		r := must.Get(w.m.Follow(t.Context(), run.ID))(t)
		must.Get(r.Next(t.Context(), 0))(t)
		wg.Go(func() {
			must.Try(w.m.Wait(t.Context(), run.ID))(t)
		})
	}
	must.Do(t, w.m.Cancel(t.Context(), "t1", run.ID, true))
	wg.Wait()
	w.end(t, run, runs.Interrupted)
	w.end(t, queued, runs.Success)
	if got := texts(w.state(t, "t1", "")); got != "human:one\nai:half\nhuman:two\nai:next" {
		t.Errorf("messages:\n%s", got)
	}
	must.Do(t, w.quiesce(t, "t1"))
	w.sound(t)
}
