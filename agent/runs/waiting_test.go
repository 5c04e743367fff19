package runs_test

import (
	"errors"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/runs"
	"fawn/store"
)

func (w *world) held(t *testing.T, thread, text string) store.Run {
	t.Helper()
	return w.goOn(t, runs.Request{Thread: thread, Input: human(text), Multitask: "enqueue", Hold: true})
}

// gated is an agent whose first answer starts when the channel is closed.
func gated(gate chan struct{}) *agent.Agent {
	first := agenttest.Say("first")
	first.Before = gate
	return &agent.Agent{
		Model: &agenttest.Script{Replies: []agenttest.Reply{first, agenttest.Say("second"), agenttest.Say("third")}},
	}
}

func (s suite) HeldRunsFollowOneThatEndedWell(t *testing.T) {
	gate := make(chan struct{})
	w := s.open(t, t.TempDir(), gated(gate))
	first := w.held(t, "t1", "one") // nothing is at work: it starts
	second, third := w.held(t, "t1", "two"), w.held(t, "t1", "three")
	if list := w.m.Waiting("t1"); len(list) != 2 || list[0].ID != second.ID || list[1].ID != third.ID {
		t.Errorf("waiting: %+v", list)
	}
	if got := w.m.Active("t1"); got != first.ID {
		t.Errorf("active is %s", got)
	}
	close(gate)
	for _, run := range []store.Run{first, second, third} {
		w.end(t, run, runs.Success)
	}
	got, want := texts(w.state(t, "t1", "")), "human:one\nai:first\nhuman:two\nai:second\nhuman:three\nai:third"
	if got != want {
		t.Errorf("messages:\n%s\nwant\n%s", got, want)
	}
	if got := w.status(t, "t1"); got != runs.Idle || len(w.m.Waiting("t1")) > 0 {
		t.Errorf("thread is %s", got)
	}
	w.sound(t)
}

// HeldRunsPauseAfterACancel: they hold nothing meanwhile, and go on when they are
// released; what ends well then takes the next along.
func (s suite) HeldRunsPauseAfterACancel(t *testing.T) {
	w := s.open(t, t.TempDir(), parrotAgent())
	first := w.startAs(t, "t1", "hang one", "")
	w.until(t, first, text("one"))
	second, third := w.held(t, "t1", "two"), w.held(t, "t1", "three")
	must.Do(t, w.m.Cancel(t.Context(), "t1", first.ID, true))
	if got := w.status(t, "t1"); got != runs.ThreadInterrupted || w.m.Active("t1") != "" {
		t.Errorf("thread is %s", got)
	}
	if err := w.m.Release("t2", second.ID); !errors.Is(err, runs.ErrNotFound) {
		t.Errorf("released in another thread: %v", err)
	}
	must.Do(t, w.m.Rollback(t.Context(), "t1", third.ID, true))
	if _, err := w.db.Run(t.Context(), third.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a run that was taken back: %v", err)
	}
	fourth := w.goOn(t, runs.Request{Thread: "t1", Input: human("hang four"), Multitask: "enqueue"})
	w.until(t, fourth, text("four"))
	fifth := w.held(t, "t1", "five")
	must.Do(t, w.m.Release("t1", second.ID))
	if err := w.m.Release("t1", second.ID); !errors.Is(err, runs.ErrNotFound) {
		t.Errorf("released twice: %v", err)
	}
	must.Do(t, w.m.Cancel(t.Context(), "t1", fourth.ID, false))
	w.end(t, second, runs.Success)
	w.end(t, fifth, runs.Success)
	w.sound(t)
}

func (s suite) HeldRunsWaitAfterARestart(t *testing.T) {
	dir := t.TempDir()
	w := s.open(t, dir, parrotAgent())
	first := w.startAs(t, "t1", "hang one", "")
	w.until(t, first, text("one"))
	second := w.held(t, "t1", "two")
	must.Do(t, w.m.Cancel(t.Context(), "t1", first.ID, true))
	w.close()
	w = s.open(t, dir, parrotAgent())
	if list := w.m.Waiting("t1"); len(list) != 1 || list[0].ID != second.ID {
		t.Fatalf("waiting: %+v", list)
	}
	must.Do(t, w.m.Release("t1", second.ID))
	w.end(t, second, runs.Success)
	w.sound(t)
	third := w.held(t, "t1", "three")
	w.end(t, third, runs.Success)
	must.Do(t, w.m.DeleteThread(t.Context(), "t1"))
}

// RunsKeepTheirPlacesAcrossARestart: one that was held came later into line than it was made.
func (s suite) RunsKeepTheirPlacesAcrossARestart(t *testing.T) {
	dir := t.TempDir()
	w := s.open(t, dir, parrotAgent())
	first := w.startAs(t, "t1", "hang one", "")
	w.until(t, first, text("one"))
	held := w.held(t, "t1", "three")
	second := w.startAs(t, "t1", "two", "enqueue")
	must.Do(t, w.m.Release("t1", held.ID))
	w.close()
	w = s.open(t, dir, parrotAgent())
	must.Do(t, w.m.Cancel(t.Context(), "t1", first.ID, true))
	w.end(t, second, runs.Success)
	w.end(t, held, runs.Success)
	if got := texts(w.state(t, "t1", "")); !strings.HasSuffix(got, "human:two\nai:re: two\nhuman:three\nai:re: three") {
		t.Errorf("messages:\n%s", got)
	}
	w.sound(t)
}
