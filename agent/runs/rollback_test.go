package runs_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/runs"
	"fawn/agent/runs/runevent"
	"fawn/store"
)

// busyScene is a thread with a finished run and one which has called a tool and hangs in
// its second answer.
func (s suite) busyScene(t *testing.T) (w *world, before map[string]int, running store.Run) {
	t.Helper()
	half := agenttest.Say("half")
	half.Hang = true
	tool := &agent.Tool{Name: "note", Run: func(context.Context, *agent.Turn, agent.ToolCall) (agent.Result, error) {
		r := agent.TextResult("noted")
		title := "another name"
		r.Patch.Title, r.Patch.Artifacts = &title, []string{"/b"}
		return r, nil
	}}
	w = s.open(t, t.TempDir(),
		&agent.Agent{Tools: []*agent.Tool{tool}, Model: &agenttest.Script{Replies: []agenttest.Reply{
			agenttest.Say("one"), agenttest.Call("c1", "note", `{}`), half, agenttest.Say("three"),
			agenttest.Say("four"),
		}}})
	w.end(t, w.start(t, "t1", "first"), runs.Success)
	must.Get(w.m.UpdateState(t.Context(), "t1",
		runs.Update{Values: json.RawMessage(`{"title":"a name","artifacts":["/a"]}`)}))(t)
	before = w.rows(t, "t1")
	running = w.start(t, "t1", "second")
	w.until(t, running, text("half"))
	return w, before, running
}

// asBefore checks that nothing of the run is left but the numbers it used.
func asBefore(t *testing.T, w *world, before map[string]int, run store.Run) {
	t.Helper()
	after := w.rows(t, "t1")
	for table, n := range before {
		if after[table] != n {
			t.Errorf("%d rows in %s, there were %d", after[table], table, n)
		}
	}
	if got := texts(w.state(t, "t1", "")); got != "human:first\nai:one" {
		t.Errorf("messages:\n%s", got)
	}
	th, err := w.db.Thread(t.Context(), "t1")
	if err != nil || th.Title != "a name" || th.Status != runs.Idle {
		t.Errorf("thread: %+v, %v", th, err)
	}
	if _, err := w.m.Follow(t.Context(), run.ID); !errors.Is(err, runs.ErrNotFound) {
		t.Errorf("the run can still be read: %v", err)
	}
	w.sound(t)
}

func (s suite) RollbackLeavesNothingOfARun(t *testing.T) {
	w, before, run := s.busyScene(t)
	reader := must.Get(w.m.Follow(t.Context(), run.ID))(t)
	must.Do(t, w.m.Rollback(t.Context(), "t1", run.ID, true))
	last := runevent.Event{} // its readers are told
	for after := int64(0); ; after = last.To {
		evs := must.Get(reader.Next(t.Context(), after))(t)
		if evs == nil {
			break
		}
		last = evs[len(evs)-1]
	}
	if last.Kind != runevent.KindEnd {
		t.Errorf("the last event is of kind %d", last.Kind)
	}
	asBefore(t, w, before, run)
	if err := w.m.Rollback(t.Context(), "t1", run.ID, true); !errors.Is(err, runs.ErrNotFound) {
		t.Errorf("again: %v", err)
	}
	next := w.start(t, "t1", "third")
	w.end(t, next, runs.Success)
	if evs := w.read(t, next.ID, 0); evs[0].Seq <= last.To {
		t.Errorf("numbers are used again: %d after %d", evs[0].Seq, last.To)
	}
	if got := texts(w.state(t, "t1", "")); got != "human:first\nai:one\nhuman:third\nai:three" {
		t.Errorf("messages:\n%s", got)
	}
	w.sound(t)
}

// RollbackMakesRoomForTheNextRun: as a strategy, with a queued run that goes too.
func (s suite) RollbackMakesRoomForTheNextRun(t *testing.T) {
	w, _, run := s.busyScene(t)
	queued := w.start(t, "t1", "queued")
	next := w.startAs(t, "t1", "third", "rollback")
	w.end(t, next, runs.Success)
	for _, gone := range []store.Run{run, queued} {
		if _, err := w.m.Wait(t.Context(), gone.ID); !errors.Is(err, runs.ErrNotFound) {
			t.Errorf("run %s is still there: %v", gone.ID, err)
		}
	}
	must.Do(t, w.quiesce(t, "t1"))
	if got := texts(w.state(t, "t1", "")); got != "human:first\nai:one\nhuman:third\nai:three" {
		t.Errorf("messages:\n%s", got)
	}
	w.sound(t)
}

func (s suite) RollbackOfAQueuedRunLeavesTheRunningOne(t *testing.T) {
	w, _, run := s.busyScene(t)
	queued := w.start(t, "t1", "queued")
	must.Do(t, w.m.Rollback(t.Context(), "t1", queued.ID, true))
	if _, err := w.m.Wait(t.Context(), queued.ID); !errors.Is(err, runs.ErrNotFound) {
		t.Errorf("the queued run is still there: %v", err)
	}
	must.Do(t, w.m.Cancel(t.Context(), "t1", run.ID, true))
	if err := w.m.Rollback(t.Context(), "t1", run.ID, true); !errors.Is(err, runs.ErrNotCancelable) {
		t.Errorf("an ended run: %v", err)
	}
	w.end(t, run, runs.Interrupted)
	must.Do(t, w.quiesce(t, "t1"))
	w.sound(t)
}

// RollbackOfAThreadsFirstRunLeavesItEmpty, and of a branch leaves the head of before.
func (s suite) RollbackOfAThreadsFirstRunLeavesItEmpty(t *testing.T) {
	w := s.open(t, t.TempDir(), parrotAgent())
	run := w.start(t, "t1", "hang on")
	w.until(t, run, text("on"))
	must.Do(t, w.m.Rollback(t.Context(), "t1", run.ID, true))
	if th, err := w.db.Thread(t.Context(), "t1"); err != nil || th.Head != "" || th.Status != runs.Idle {
		t.Errorf("thread: %+v, %v", th, err)
	}
	for table, n := range w.rows(t, "t1") {
		if n != 0 {
			t.Errorf("%d rows in %s", n, table)
		}
	}
	w.end(t, w.start(t, "t1", "one"), runs.Success)
	w.end(t, w.start(t, "t1", "two"), runs.Success)
	head := w.head(t, "t1")
	cps := must.Get(w.db.Checkpoints(t.Context(), "t1", "", "", 0, nil))(t)
	branch := w.goOn(t, runs.Request{Thread: "t1", CheckpointID: cps[2].ID, Input: human("hang here")})
	w.until(t, branch, text("here"))
	must.Do(t, w.m.Rollback(t.Context(), "t1", branch.ID, true))
	if now := w.head(t, "t1"); now.ID != head.ID {
		t.Errorf("the head is %s, it was %s", now.ID, head.ID)
	}
	if got := texts(w.state(t, "t1", "")); got != "human:one\nai:re: one\nhuman:two\nai:re: two" {
		t.Errorf("messages:\n%s", got)
	}
	w.sound(t)
}

// RollbackAfterACrash: the server died between the request and the end of the old run.
func (s suite) RollbackAfterACrash(t *testing.T) {
	for strategy, want := range map[string]string{"rollback": "human:next\nai:next",
		"interrupt": "human:go\nai:I look\ntool:did first\ntool:did second\nai:after the tools, half\nhuman:next\nai:next"} {
		t.Run(strategy, func(t *testing.T) {
			dir := t.TempDir()
			cut(t, dir, "answer")
			db := must.Get(s.openStore(t.Context(), dir))(t)
			kwargs := must.Get(json.Marshal(map[string]any{"input": human("next"), "multitask_strategy": strategy}))(t)
			next := store.Run{ID: "next", ThreadID: "t1", AssistantID: "lead_agent", Status: runs.Pending,
				Multitask: strategy, Kwargs: kwargs, Attempt: 1}
			var wishes []store.Wish
			for _, old := range must.Get(db.OpenRuns(t.Context()))(t) {
				wishes = append(wishes, store.Wish{Run: old.ID, Wish: strategy})
			}
			must.Do(t, errors.Join(db.Commit(t.Context(), store.Batch{Run: &next, Wishes: wishes}), db.Close()))
			w := s.openWith(t, dir, runs.Config{Build: func(context.Context, runs.Spec) (*agent.Agent, error) {
				return &agent.Agent{Model: &agenttest.Script{Replies: []agenttest.Reply{agenttest.Say("next")}}}, nil
			}})
			w.end(t, next, runs.Success)
			if got := texts(w.state(t, "t1", "")); got != want {
				t.Errorf("messages:\n%s\nwant\n%s", got, want)
			}
			must.Do(t, w.quiesce(t, "t1"))
			w.sound(t)
		})
	}
}
