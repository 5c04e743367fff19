package runs_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/agent/runs"
	"fawn/agent/runs/request"
	"fawn/store"
)

func (w *world) later(t *testing.T, thread, text, strategy string, seconds float64) store.Run {
	t.Helper()
	return w.goOn(t, runs.Request{Thread: thread, Input: human(text), Multitask: strategy, AfterSeconds: seconds})
}

func (w *world) row(t *testing.T, run string) store.Run {
	t.Helper()
	r := must.Get(w.db.Run(t.Context(), run))(t)
	return r
}

const hour = 3600

func (s suite) DelayedRunStartsWhenItIsDue(t *testing.T) {
	w := s.open(t, t.TempDir(), parrotAgent())
	began := time.Now()
	run := w.later(t, "t1", "later", "", 0.2)
	w.end(t, run, runs.Success)
	if took := time.Since(began); took < 200*time.Millisecond {
		t.Errorf("it ran after %v", took)
	}
	if got := texts(w.state(t, "t1", "")); got != "human:later\nai:re: later" {
		t.Errorf("messages:\n%s", got)
	}
	w.sound(t)
}

// DelayedRunHoldsNothing: until it is due its thread is idle, runs others and can be
// written to.
func (s suite) DelayedRunHoldsNothing(t *testing.T) {
	w := s.open(t, t.TempDir(), parrotAgent())
	late := w.later(t, "t1", "late", "", hour)
	if got := w.status(t, "t1"); got != runs.Idle {
		t.Errorf("thread is %s", got)
	}
	w.end(t, w.startAs(t, "t1", "now", "reject"), runs.Success)
	must.Try(w.m.UpdateState(t.Context(), "t1", runs.Update{Values: []byte(`{"title":"T"}`)}))(t)
	if got := w.row(t, late.ID).Status; got != runs.Pending {
		t.Errorf("the delayed run is %s", got)
	}
	must.Do(t, w.m.Cancel(t.Context(), "t1", late.ID, true))
	w.end(t, late, runs.Interrupted)
	if got := texts(w.state(t, "t1", "")); got != "human:now\nai:re: now" {
		t.Errorf("messages:\n%s", got)
	}
	w.sound(t)
}

func (s suite) DelayedRunInterruptsWhenItIsDue(t *testing.T) {
	w := s.open(t, t.TempDir(), parrotAgent())
	long := w.start(t, "t1", "hang on")
	late := w.later(t, "t1", "late", "interrupt", 0.1)
	w.end(t, long, runs.Interrupted)
	w.end(t, late, runs.Success)
	w.sound(t)
}

func (s suite) DelayIsKeptAcrossARestart(t *testing.T) {
	w := s.open(t, t.TempDir(), parrotAgent())
	soon := w.later(t, "t1", "soon", "reject", hour)
	late := w.later(t, "t2", "late", "reject", 2*hour)
	w.close()
	db := must.Get(s.openStore(t.Context(), w.dir))(t)
	soon.DueAt = soon.DueAt.Add(-hour * time.Second) // it is an hour later now
	must.Do(t, errors.Join(db.Commit(t.Context(), store.Batch{Run: &soon}), db.Close()))
	w = s.open(t, w.dir, parrotAgent())
	w.end(t, soon, runs.Success)
	if got := w.row(t, late.ID).Status; got != runs.Pending || w.status(t, "t2") != runs.Idle {
		t.Errorf("the later run is %s, its thread %s", got, w.status(t, "t2"))
	}
	must.Do(t, w.m.DeleteThread(t.Context(), "t2"))
	if _, err := w.db.Run(t.Context(), late.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the run of a deleted thread: %v", err)
	}
	w.sound(t)
}

func (s suite) DelaysOutsideTheirBoundsAreRefused(t *testing.T) {
	w := s.open(t, t.TempDir(), parrotAgent())
	for _, seconds := range []float64{-1, request.MaxDelay.Seconds() + 1} {
		_, err := w.m.Start(t.Context(), runs.Request{Thread: "t1", AfterSeconds: seconds})
		if !errors.Is(err, runs.ErrInput) {
			t.Errorf("%v seconds: %v", seconds, err)
		}
	}
	busy := w.start(t, "t1", "hang on")
	w.until(t, busy, text("hang"))
	if _, err := w.m.Start(t.Context(),
		runs.Request{Thread: "t1", Multitask: "reject", AfterSeconds: hour}); !errors.Is(err, runs.ErrBusy) {
		t.Errorf("rejected on a busy thread: %v", err)
	}
	late := w.later(t, "t1", "late", "enqueue", hour)
	w.later(t, "t1", "later", "interrupt", 2*hour)
	must.Do(t, w.m.CancelAll(t.Context(), "t1"))
	w.end(t, late, runs.Interrupted)
	open, err := w.db.OpenRuns(t.Context())
	if err != nil || slices.ContainsFunc(open, func(r store.Run) bool { return r.ThreadID == "t1" }) {
		t.Errorf("open runs %v %v", open, err)
	}
	w.sound(t)
}
