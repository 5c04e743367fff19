package runs_test

import (
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/runs/runevent"
)

func (s suite) ReadyNeverWaitsAndMissesNothing(t *testing.T) {
	reply := agenttest.Say("one ", "two")
	reply.Hang = true
	w := s.open(t, t.TempDir(), &agent.Agent{Model: &agenttest.Script{Replies: []agenttest.Reply{reply}}})
	run := w.start(t, "t1", "hi")
	live, err := w.m.Follow(t.Context(), run.ID)
	if err != nil {
		t.Fatal(err)
	}
	var seen []runevent.Event
	after := int64(0)
	for !strings.Contains(shape(seen), "finish") {
		evs, err := live.Next(t.Context(), after)
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, evs...)
		after = evs[len(evs)-1].To
	}
	ready := func() []runevent.Event {
		r, err := w.m.Follow(t.Context(), run.ID)
		if err != nil {
			t.Fatal(err)
		}
		var all []runevent.Event
		for after := int64(0); ; {
			evs, err := r.Ready(t.Context(), after)
			if err != nil {
				t.Fatal(err)
			}
			if len(evs) == 0 {
				return all
			}
			all = append(all, evs...)
			after = evs[len(evs)-1].To
		}
	}
	if got, want := shape(ready()), shape(seen); got != want {
		t.Fatalf("of a live run: %s, want %s", got, want)
	}
	if err := w.m.Cancel(t.Context(), "t1", run.ID, true); err != nil {
		t.Fatal(err)
	}
	if got, want := shape(ready()), shape(w.read(t, run.ID, 0)); got != want {
		t.Fatalf("of an ended run: %s, want %s", got, want)
	}
}
