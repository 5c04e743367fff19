package runs_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/runs"
	"fawn/agent/runs/runevent"
)

// AnnouncementsAreEventsOfTheRunAndNeverComeBehindItsEnd: whoever announces is told
// whether readers will see it, and what they see is what was promised.
func (s suite) AnnouncementsAreEventsOfTheRunAndNeverComeBehindItsEnd(t *testing.T) {
	w := s.openWith(t, t.TempDir(),
		runs.Config{Build: func(context.Context, runs.Spec) (*agent.Agent, error) { return parrotAgent(), nil }})
	if w.m.Announce("a", json.RawMessage(`{}`)) {
		t.Error("there is no run to announce in")
	}
	run := w.startAs(t, "a", "hang on", "reject")
	w.until(t, run, text("on"))
	if w.m.Announce("b", json.RawMessage(`{}`)) {
		t.Error("another thread's run took it")
	}
	var wg sync.WaitGroup
	promised := make([]int, 4)
	begun := make(chan struct{}, len(promised))
	for i := range promised {
		wg.Go(func() {
			for promised[i] < 5000 && w.m.Announce("a", json.RawMessage(`{"type":"note"}`)) {
				if promised[i]++; promised[i] == 1 {
					begun <- struct{}{}
				}
			}
		})
	}
	for range promised {
		<-begun
	}
	must.Do(t, w.m.Cancel(t.Context(), "a", run.ID, false))
	w.end(t, run, runs.Interrupted)
	wg.Wait()
	want := 0
	for _, n := range promised {
		want += n
	}
	r := must.Get(w.m.Follow(t.Context(), run.ID))(t)
	got, last := 0, runevent.Kind(0)
	for after := int64(0); ; {
		evs := must.Get(r.Next(t.Context(), after))(t)
		if len(evs) == 0 {
			break
		}
		for _, e := range evs {
			if e.Kind == runevent.KindCustom && string(e.Data) == `{"type":"note"}` {
				got++
			}
			last = e.Kind
		}
		after = evs[len(evs)-1].To
	}
	if got != want || last != runevent.KindEnd {
		t.Errorf("%d announcements were promised, %d are there; the last event is of kind %d", want, got, last)
	}
}
