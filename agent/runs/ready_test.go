package runs_test

import (
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/runs/runevent"
)

func (s suite) ReadyNeverWaitsAndMissesNothing(t *testing.T) {
	reply := agenttest.Say("one ", "two")
	reply.Hang = true
	w := s.open(t, t.TempDir(), &agent.Agent{Model: &agenttest.Script{Replies: []agenttest.Reply{reply}}})
	run := w.start(t, "t1", "hi")
	live := must.Get(w.m.Follow(t.Context(), run.ID))(t)
	var seen []runevent.Event
	after := int64(0)
	for !strings.Contains(shape(seen), "finish") {
		evs := must.Get(live.Next(t.Context(), after))(t)
		seen = append(seen, evs...)
		after = evs[len(evs)-1].To
	}
	ready := func() []runevent.Event {
		r := must.Get(w.m.Follow(t.Context(), run.ID))(t)
		var all []runevent.Event
		for after := int64(0); ; {
			evs := must.Get(r.Ready(t.Context(), after))(t)
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
	must.Do(t, w.m.Cancel(t.Context(), "t1", run.ID, true))
	if got, want := shape(ready()), shape(w.read(t, run.ID, 0)); got != want {
		t.Fatalf("of an ended run: %s, want %s", got, want)
	}
}
