package runs_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/runs"
	"fawn/store"
)

// InterruptEndsWhatRunsAndWhatWaits: the thread's running and queued runs end, what
// they were told and had said stays, and the new run starts.
func (s suite) InterruptEndsWhatRunsAndWhatWaits(t *testing.T) {
	w := s.open(t, t.TempDir(), parrotAgent())
	first := w.startAs(t, "t1", "hang one", "")
	w.until(t, first, text("one"))
	queued := w.startAs(t, "t1", "two", "enqueue")
	last := w.startAs(t, "t1", "three", "interrupt")
	w.end(t, first, runs.Interrupted)
	if row := w.end(t, queued, runs.Interrupted); row.LastSeq != 0 {
		t.Errorf("the queued run began: %+v", row)
	}
	w.end(t, last, runs.Success)
	got, want := texts(w.state(t, "t1", "")), "human:hang one\nai:re: hang one\nhuman:three\nai:re: three"
	if got != want {
		t.Errorf("messages:\n%s\nwant\n%s", got, want)
	}
	if got := w.status(t, "t1"); got != runs.Idle {
		t.Errorf("thread is %s", got)
	}
	w.sound(t)
}

// InterruptBeforeTheFirstWordKeepsTheQuestion: the input is part of the thread even
// when its run is ended before it did anything.
func (s suite) InterruptBeforeTheFirstWordKeepsTheQuestion(t *testing.T) {
	w := s.open(t, t.TempDir(), parrotAgent())
	for i := range 20 {
		thread := fmt.Sprint("t", i)
		first := w.startAs(t, thread, "hang", "")
		must.Do(t, w.m.Cancel(t.Context(), thread, first.ID, i%2 == 0))
		row := w.end(t, first, runs.Interrupted)
		if row.LastSeq == 0 { // it was still queued
			continue
		}
		if got := texts(w.state(t, thread, "")); !strings.HasPrefix(got, "human:hang") {
			t.Errorf("messages: %q", got)
		}
		if next := w.head(t, thread).Next; len(next) != 1 || next[0] != agent.NodeModel {
			t.Errorf("next = %v", next)
		}
	}
	w.sound(t)
}

// QueueKeepsItsOrderWithoutCancelledMembers cancels runs in the middle of a queue.
func (s suite) QueueKeepsItsOrderWithoutCancelledMembers(t *testing.T) {
	w := s.open(t, t.TempDir(), parrotAgent())
	first := w.startAs(t, "t1", "hang", "")
	w.until(t, first, text("hang"))
	var queue []store.Run
	for i := range 6 {
		queue = append(queue, w.startAs(t, "t1", fmt.Sprint("q", i), ""))
	}
	for _, i := range []int{1, 4, 5} {
		must.Do(t, w.m.Cancel(t.Context(), "t1", queue[i].ID, true))
		w.end(t, queue[i], runs.Interrupted)
		if evs := w.read(t, queue[i].ID, 0); len(evs) > 0 {
			t.Errorf("a run that never began shows %v", allLines(evs))
		}
	}
	if got := w.m.Active("t1"); got != first.ID {
		t.Errorf("active = %s", got)
	}
	must.Do(t, w.m.Cancel(t.Context(), "t1", first.ID, true))
	for _, i := range []int{0, 2, 3} {
		w.end(t, queue[i], runs.Success)
	}
	got := texts(w.state(t, "t1", ""))
	want := "human:hang\nai:re: hang\nhuman:q0\nai:re: q0\nhuman:q2\nai:re: q2\nhuman:q3\nai:re: q3"
	if got != want {
		t.Errorf("messages:\n%s", got)
	}
	if got := w.status(t, "t1"); got != runs.Idle {
		t.Errorf("thread is %s", got)
	}
	w.sound(t)
}

// ThreadIsBusyExactlyWhileSomethingRuns starts and cancels runs of one thread from
// many sides; in the end the thread is not busy, and while a run speaks it is.
func (s suite) ThreadIsBusyExactlyWhileSomethingRuns(t *testing.T) {
	w := s.open(t, t.TempDir(), parrotAgent())
	for range 15 {
		var wg sync.WaitGroup
		for i := range 6 {
			wg.Go(func() {
				run, err := w.m.Start(t.Context(), runs.Request{Thread: "t1", Input: human("hello there")})
				if err != nil {
					t.Error(err)
					return
				}
				if i%2 == 0 {
					err := w.m.Cancel(t.Context(), "t1", run.ID, true)
					if err != nil && !errors.Is(err, runs.ErrNotCancelable) {
						t.Error(err)
					}
				}
				must.Try(w.m.Wait(t.Context(), run.ID))(t)
			})
		}
		wg.Wait()
		hanging := w.start(t, "t1", "hang")
		w.until(t, hanging, text("hang"))
		if got := w.status(t, "t1"); got != runs.Busy {
			t.Fatalf("a thread with a run that speaks is %s", got)
		}
		must.Do(t, w.m.Cancel(t.Context(), "t1", hanging.ID, true))
		if got := w.status(t, "t1"); got != runs.ThreadInterrupted {
			t.Fatalf("thread is %s", got)
		}
		w.sound(t)
	}
}

func (s suite) CancelTellsWhatItCannotDo(t *testing.T) {
	w := s.open(t, t.TempDir(), parrotAgent())
	done := w.start(t, "t1", "one")
	w.end(t, done, runs.Success)
	failed := w.start(t, "t1", "fail")
	w.end(t, failed, runs.Failed)
	hanging := w.start(t, "t1", "hang")
	for _, c := range []struct {
		name, thread, run string
		want              error
	}{
		{"ended", "t1", done.ID, runs.ErrNotCancelable},
		{"ended, without a thread", "", done.ID, runs.ErrNotCancelable},
		{"failed", "t1", failed.ID, runs.ErrNotCancelable},
		{"another thread's", "t2", done.ID, runs.ErrNotFound},
		{"another thread's, running", "t2", hanging.ID, runs.ErrNotFound},
		{"unknown", "t1", "nothing", runs.ErrNotFound},
		{"running", "t1", hanging.ID, nil},
		{"cancelled", "t1", hanging.ID, nil},
	} {
		if err := w.m.Cancel(t.Context(), c.thread, c.run, true); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	if _, err := w.m.Wait(t.Context(), "nothing"); !errors.Is(err, runs.ErrNotFound) {
		t.Errorf("wait for nothing: %v", err)
	}
	if _, err := w.m.Follow(t.Context(), "nothing"); !errors.Is(err, runs.ErrNotFound) {
		t.Errorf("follow nothing: %v", err)
	}
}

// WrongInputMakesNoRun: what can be seen to be wrong is told at once, and neither run
// nor thread is made.
func (s suite) WrongInputMakesNoRun(t *testing.T) {
	w := s.open(t, t.TempDir(), parrotAgent())
	w.end(t, w.start(t, "t1", "one"), runs.Success)
	w.end(t, w.start(t, "t2", "two"), runs.Success)
	other := w.head(t, "t2").ID
	for _, c := range []struct {
		name string
		req  runs.Request
		want error
	}{
		{"input of a wrong type", runs.Request{Thread: "new", Input: json.RawMessage(`7`)}, runs.ErrInput},
		{"message without a type", runs.Request{Thread: "new", Input: json.RawMessage(`{"messages":[{"content":"x"}]}`)}, runs.ErrInput},
		{"config of a wrong type", runs.Request{Thread: "new", Config: json.RawMessage(`[]`)}, runs.ErrInput},
		{"option of a wrong type", runs.Request{Thread: "new", Context: json.RawMessage(`{"model_name":7}`)}, runs.ErrInput},
		{"metadata of a wrong type", runs.Request{Thread: "new", Metadata: json.RawMessage(`"x"`)}, runs.ErrInput},
		{"unknown strategy", runs.Request{Thread: "new", Multitask: "first"}, runs.ErrInput},
		{"checkpoint that does not exist", runs.Request{Thread: "t1", CheckpointID: "nothing"}, runs.ErrNotFound},
		{"checkpoint of another thread", runs.Request{Thread: "t1", CheckpointID: other}, runs.ErrNotFound},
		{"checkpoint object of another thread", runs.Request{Thread: "t1", Checkpoint: json.RawMessage(`{"thread_id":"t2","checkpoint_id":"` + other + `"}`)}, runs.ErrInput},
		{"thread that must exist", runs.Request{Thread: "new", IfNotExists: "reject"}, runs.ErrNotFound},
	} {
		if run, err := w.m.Start(t.Context(), c.req); !errors.Is(err, c.want) {
			t.Errorf("%s: %v %v, want %v", c.name, run.ID, err, c.want)
		}
	}
	list, n, err := w.db.Threads(t.Context(), store.ThreadQuery{})
	if err != nil || n != 2 {
		t.Errorf("threads %v %v", list, err)
	}
	for _, thread := range []string{"t1", "t2"} {
		if all, err := w.db.Runs(t.Context(), thread, "", 0, 0); err != nil || len(all) != 1 {
			t.Errorf("%s has %d runs, %v", thread, len(all), err)
		}
	}
	w.sound(t)
}

// InputCannotSpeakForTheServer: keys only the server writes are dropped from every
// form of input.
func (s suite) InputCannotSpeakForTheServer(t *testing.T) {
	w := s.open(t, t.TempDir(), parrotAgent())
	msg := `{"type":"human","content":"hi","additional_kwargs":{"hide_from_ui":true,"run_id":"x","mine":1}}`
	for name, in := range map[string]string{
		"object": `{"messages":[` + msg + `],"sandbox":{"sandbox_id":"x"},"thread_data":{"workspace_path":"/"}}`,
		"list":   `[` + msg + `]`,
	} {
		run := must.Get(w.m.Start(t.Context(), runs.Request{Thread: name, Input: json.RawMessage(in)}))(t)
		w.end(t, run, runs.Success)
		s := w.state(t, name, "")
		if got := fmt.Sprint(s.Messages[0].Kwargs, s.Sandbox, s.ThreadData); got != "map[mine:1] <nil> <nil>" {
			t.Errorf("%s: %s", name, got)
		}
	}
}
