package runs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/runs"
	"fawn/store"
)

// goOn starts a run without input.
func (w *world) goOn(t *testing.T, req runs.Request) store.Run {
	t.Helper()
	run := must.Get(w.m.Start(t.Context(), req))(t)
	return run
}

// NothingToGoOnWithChangesNothing: a run without input on a thread that is done.
func (s suite) NothingToGoOnWithChangesNothing(t *testing.T) {
	w := s.open(t, t.TempDir(), parrotAgent())
	w.end(t, w.start(t, "t1", "one"), runs.Success)
	before := w.head(t, "t1")
	for _, in := range []string{"", "null"} {
		run := w.goOn(t, runs.Request{Thread: "t1", Input: json.RawMessage(in)})
		w.end(t, run, runs.Success)
		if got := shape(w.read(t, run.ID, 0)); got != "meta end" {
			t.Errorf("events: %s", got)
		}
	}
	if after := w.head(t, "t1"); after.ID != before.ID {
		t.Errorf("a checkpoint was written: %+v", after)
	}
	if got := w.status(t, "t1"); got != runs.Idle {
		t.Errorf("thread is %s", got)
	}
	// the same on a thread that has only its empty checkpoint to go on from
	cps := must.Get(w.db.Checkpoints(t.Context(), "t1", "", "", 0, nil))(t)
	w.end(t, w.goOn(t, runs.Request{Thread: "t1", CheckpointID: cps[len(cps)-1].ID}), runs.Success)
	w.end(t, w.goOn(t, runs.Request{Thread: "empty"}), runs.Success)
	w.sound(t)
}

func (s suite) GoingOnAfterCancelAnswersTheSameQuestion(t *testing.T) {
	reply := agenttest.Say("half")
	reply.Hang = true
	script := &agenttest.Script{Replies: []agenttest.Reply{reply, agenttest.Say("whole")}}
	w := s.open(t, t.TempDir(), &agent.Agent{Model: script})
	first := w.start(t, "t1", "question")
	w.until(t, first, text("half"))
	must.Do(t, w.m.Cancel(t.Context(), "t1", first.ID, true))
	w.end(t, w.goOn(t, runs.Request{Thread: "t1"}), runs.Success)
	if got := texts(w.state(t, "t1", "")); got != "human:question\nai:half\nai:whole" {
		t.Errorf("messages:\n%s", got)
	}
	if m := w.state(t, "t1", "").Messages[1]; m.Meta["finish_reason"] != agent.FinishInterrupted {
		t.Errorf("the cut off answer says %v", m.Meta)
	}
	w.sound(t)
}

func (s suite) CancelledToolsAreClosedAndNotRunAgain(t *testing.T) {
	calls, began := 0, make(chan struct{}, 2)
	slow := &agent.Tool{Name: "slow", Run: func(ctx context.Context, _ *agent.Turn,
		_ agent.ToolCall) (agent.Result, error) {
		calls++
		began <- struct{}{}
		<-ctx.Done()
		return agent.Result{}, ctx.Err()
	}}
	w := s.open(t, t.TempDir(),
		&agent.Agent{Tools: []*agent.Tool{slow},
			Model: &agenttest.Script{Replies: []agenttest.Reply{agenttest.Call("c1", "slow", `{}`)}}})
	run := w.start(t, "t1", "go")
	<-began // the start event is stored a moment before the tool itself is at work
	must.Do(t, w.m.Cancel(t.Context(), "t1", run.ID, true))
	got := shape(w.read(t, run.ID, 0))
	if got != "meta step(__input__) msg call finish step(model) start result step(tools) end" {
		t.Errorf("events: %s", got)
	}
	w.end(t, w.goOn(t, runs.Request{Thread: "t1"}), runs.Success)
	if got, want := texts(w.state(t, "t1", "")),
		"human:go\nai:\ntool:"+agent.InterruptedResult+"\nai:done."; got != want || calls != 1 {
		t.Errorf("%d calls, messages:\n%s", calls, got)
	}
	w.sound(t)
}

// RunFromAnOldCheckpointMakesABranch: both answers stay, each a child of the question.
func (s suite) RunFromAnOldCheckpointMakesABranch(t *testing.T) {
	for _, form := range []string{"checkpoint_id", "checkpoint", "configurable"} {
		t.Run(form, func(t *testing.T) {
			n := 0
			w := s.open(t, t.TempDir(),
				&agent.Agent{Model: modelOf(func(_ context.Context, _ *agent.Request, yield func(agent.Chunk,
					error) bool) {
					n++
					yield(agent.Chunk{Text: fmt.Sprint("answer ", n)}, nil)
				})})
			w.end(t, w.start(t, "t1", "question"), runs.Success)
			first := w.head(t, "t1")
			w.end(t, w.start(t, "t1", "more"), runs.Success)
			longer := w.head(t, "t1")

			asked := first.Parent
			req := runs.Request{Thread: "t1"}
			switch form {
			case "checkpoint_id":
				req.CheckpointID = asked
			case "checkpoint":
				req.Checkpoint = json.RawMessage(`{"thread_id":"t1","checkpoint_ns":"","checkpoint_id":"` +
					asked + `"}`)
			case "configurable":
				req.Config = json.RawMessage(`{"configurable":{"checkpoint_id":"` + asked + `"}}`)
			}
			run := w.goOn(t, req)
			if row := w.end(t, run, runs.Success); row.BaseCheckpoint != asked {
				t.Errorf("base = %s", row.BaseCheckpoint)
			}
			second := w.head(t, "t1")
			if second.Parent != asked || second.ID <= longer.ID || second.ID == first.ID {
				t.Errorf("%s is a child of %s, want a new child of %s", second.ID, second.Parent, asked)
			}
			for id, want := range map[string]string{
				first.ID: "human:question\nai:answer 1", second.ID: "human:question\nai:answer 3",
				asked: "human:question", longer.ID: "human:question\nai:answer 1\nhuman:more\nai:answer 2",
			} {
				if got := texts(w.state(t, "t1", id)); got != want {
					t.Errorf("%s:\n%s\nwant\n%s", id, got, want)
				}
			}
			// what a run of the old branch wrote can still be read
			if evs := w.read(t, run.ID, 0); !strings.HasSuffix(shape(evs), "text(answer 3) step(model) end") {
				t.Errorf("events: %s", shape(evs))
			}
			w.sound(t)
		})
	}
}

// EveryMessageHasACheckpointWithoutIt: also the first message can be asked again in
// other words, from the checkpoint before it.
func (s suite) EveryMessageHasACheckpointWithoutIt(t *testing.T) {
	w := s.open(t, t.TempDir(), parrotAgent())
	w.end(t, w.start(t, "t1", "first"), runs.Success)
	cps := must.Get(w.db.Checkpoints(t.Context(), "t1", "", "", 0, nil))(t)
	var steps []string
	for _, cp := range cps {
		steps = append(steps,
			fmt.Sprintf("%d %s %v %d", cp.Step, cp.Source, cp.Next, len(w.state(t, "t1", cp.ID).Messages)))
	}
	if got := strings.Join(steps, ", "); got != "1 loop [] 2, 0 input [model] 1, -1 input [__start__] 0" {
		t.Errorf("history: %s", got)
	}
	root := cps[len(cps)-1]
	if root.Parent != "" || cps[1].Parent != root.ID {
		t.Errorf("the input's parent is %s, the root %s has parent %q", cps[1].Parent, root.ID, root.Parent)
	}
	w.end(t, w.goOn(t, runs.Request{Thread: "t1", CheckpointID: root.ID, Input: human("other words")}), runs.Success)
	if got := texts(w.state(t, "t1", "")); got != "human:other words\nai:re: other words" {
		t.Errorf("messages:\n%s", got)
	}
	w.sound(t)
}

// RunWithoutInputIsKnownBeforeItSpeaks: its row says running, and its first event is
// stored, before the model says a word.
func (s suite) RunWithoutInputIsKnownBeforeItSpeaks(t *testing.T) {
	reply := agenttest.Say("half")
	reply.Hang = true
	w := s.open(t, t.TempDir(), &agent.Agent{Model: &agenttest.Script{Replies: []agenttest.Reply{reply, reply}}})
	first := w.start(t, "t1", "question")
	w.until(t, first, text("half"))
	must.Do(t, w.m.Cancel(t.Context(), "t1", first.ID, true))
	run := w.goOn(t, runs.Request{Thread: "t1"})
	w.until(t, run, text("half"))
	if row, err := w.db.Run(t.Context(), run.ID); err != nil || row.Status != runs.Running || row.FirstSeq == 0 {
		t.Errorf("row = %+v, %v", row, err)
	}
	if got := w.status(t, "t1"); got != runs.Busy {
		t.Errorf("thread is %s", got)
	}
}
