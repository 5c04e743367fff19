package runs_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/agent/runs"
	"fawn/agent/runs/runevent"
	"fawn/store"
)

// TestARunIsThereWithItsInputOrNotAtAll: the row of a run that began at once appears together with its message.
func TestARunIsThereWithItsInputOrNotAtAll(t *testing.T) {
	w := suite{openSQLite}.open(t, t.TempDir(), parrotAgent())
	run := w.startAs(t, "t", "hang on", "")
	if run.Status != runs.Pending {
		t.Errorf("the answer says %s", run.Status)
	}
	row, err := w.db.Run(t.Context(), run.ID)
	if err != nil || row.Status != runs.Running || row.FirstSeq == 0 {
		t.Errorf("stored: %+v, %v", row, err)
	}
	if st := w.state(t, "t", ""); texts(st) != "human:hang on" || w.status(t, "t") != runs.Busy {
		t.Errorf("%s, %s", texts(st), w.status(t, "t"))
	}
	if _, err := w.m.Start(t.Context(), runs.Request{Thread: "t", Input: human("x"), Multitask: "reject"}); !errors.Is(err, runs.ErrBusy) {
		t.Errorf("a second run: %v", err)
	}
	next := w.startAs(t, "t", "and then", "enqueue")
	if err := w.m.Cancel(t.Context(), "t", run.ID, true); err != nil {
		t.Fatal(err)
	}
	w.end(t, run, runs.Interrupted)
	w.end(t, next, runs.Success)
	w.sound(t)
}

// TestARunThatCannotBeginAtOnceTellsWhy, and leaves nothing.
func TestARunThatCannotBeginAtOnceTellsWhy(t *testing.T) {
	w := suite{openSQLite}.open(t, t.TempDir(), parrotAgent())
	ctx := t.Context()
	done := w.startAs(t, "t", "hello", "")
	w.end(t, done, runs.Success)
	held(w.m)
	if _, err := w.db.AddFirstUser(ctx, store.User{Email: "owner@example.com", Role: "owner"}); err != nil {
		t.Fatal(err)
	}
	user, err := w.db.AddUser(ctx, store.User{ID: "gone", Email: "gone@example.com", Role: "user", Disabled: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		req  runs.Request
		want error
	}{
		{runs.Request{Thread: "none", IfNotExists: "reject"}, runs.ErrNotFound},
		{runs.Request{Thread: "t", Owner: "other"}, runs.ErrNotFound},
		{runs.Request{Thread: "new", Owner: user.ID}, runs.ErrBarred},
		{runs.Request{Thread: "t", ID: done.ID}, runs.ErrExists},
	} {
		c.req.Input = human("x")
		if _, err := w.m.Start(ctx, c.req); !errors.Is(err, c.want) {
			t.Errorf("%+v: %v, want %v", c.req, err, c.want)
		}
	}
	if _, err := w.db.Thread(ctx, "new"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a refused run left its thread: %v", err)
	}
	bad, err := w.m.Start(ctx, runs.Request{Thread: "t", Input: json.RawMessage(`{"messages":[{"type":"remove","id":"nobody"}]}`)})
	if err == nil {
		w.end(t, bad, runs.Failed)
	}
	w.end(t, w.startAs(t, "t", "again", ""), runs.Success)
	w.sound(t)
}

// TestRunsThatComeTogetherTakeTurns: one of many begins at once, the others behind it, in every strategy.
func TestRunsThatComeTogetherTakeTurns(t *testing.T) {
	w := suite{openSQLite}.open(t, t.TempDir(), parrotAgent())
	const n = 24
	var wg sync.WaitGroup
	started := make([]store.Run, n)
	for i := range n {
		wg.Go(func() {
			var err error
			strategy := []string{"enqueue", "enqueue", "reject"}[i%3]
			started[i], err = w.m.Start(t.Context(), runs.Request{Thread: "t", Input: human("hello"), Multitask: strategy})
			if err != nil && !(strategy == "reject" && errors.Is(err, runs.ErrBusy)) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	ran := 0
	for _, run := range started {
		if run.ID != "" {
			w.end(t, run, runs.Success)
			ran++
		}
	}
	if st := w.state(t, "t", ""); len(st.Messages) != 2*ran || ran < 16 {
		t.Errorf("%d messages of %d runs", len(st.Messages), ran)
	}
	w.sound(t)
}

// TestAReaderThatComesAsARunBeginsReadsAllOfIt opens readers again and again until the run is there.
func TestAReaderThatComesAsARunBeginsReadsAllOfIt(t *testing.T) {
	w := suite{openSQLite}.open(t, t.TempDir(), parrotAgent())
	for n := range 200 {
		id := fmt.Sprint("run ", n)
		last := make(chan runevent.Event, 1)
		go func() {
			defer close(last)
			r, err := w.m.Follow(t.Context(), id)
			for errors.Is(err, runs.ErrNotFound) {
				r, err = w.m.Follow(t.Context(), id)
			}
			var cursor int64
			for err == nil {
				var evs []runevent.Event
				if evs, err = r.Next(t.Context(), cursor); len(evs) == 0 {
					break
				}
				ev := evs[len(evs)-1]
				if cursor = ev.To; ev.Kind == runevent.KindEnd {
					last <- ev
				}
			}
			if err != nil {
				t.Errorf("%s: %v", id, err)
			}
		}()
		must.Get(w.m.Start(t.Context(), runs.Request{ID: id, Thread: fmt.Sprint("t", n), Input: human("hello")}))(t)
		if ev := <-last; !strings.Contains(string(ev.Data), `"success"`) {
			t.Fatalf("%s ended with %v %s", id, ev.Kind, ev.Data)
		}
	}
}
