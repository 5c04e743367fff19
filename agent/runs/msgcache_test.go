package runs_test

import (
	"fmt"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/agent/runs"
)

func (s suite) DeletedThreadsForgetDecodedMessages(t *testing.T) {
	w := s.open(t, t.TempDir(), parrotAgent())
	w.end(t, w.start(t, "t1", "one"), runs.Success)
	w.end(t, w.start(t, "t1", "two"), runs.Success)
	must.Do(t, w.m.DeleteThread(t.Context(), "t1"))
	// Its messages have the row numbers of those that are gone.
	w.end(t, w.start(t, "t1", "three"), runs.Success)
	w.end(t, w.start(t, "t1", "four"), runs.Success)
	must.Report(t, w.m.DecodedAsStored(t.Context()))
	w.sound(t)
}

// NothingStaysDecodedAtRest, and the next turn has the whole conversation all the same.
func (s suite) NothingStaysDecodedAtRest(t *testing.T) {
	w := s.open(t, t.TempDir(), parrotAgent())
	w.end(t, w.start(t, "t", "one"), runs.Success)
	w.end(t, w.start(t, "t", "two"), runs.Success)
	if _, n := w.m.DecodedBytes(); n != 1 {
		t.Fatalf("%d threads are kept before", n)
	}
	w.m.Rest()
	if bytes, n := w.m.DecodedBytes(); bytes != 0 || n != 0 {
		t.Errorf("%d bytes of %d threads are kept", bytes, n)
	}
	w.end(t, w.start(t, "t", "three"), runs.Success)
	w.sound(t)
}

func (s suite) DecodedMessagesAreBounded(t *testing.T) {
	w := s.open(t, t.TempDir(), parrotAgent())
	big := strings.Repeat("w", 1<<20)
	for i := range 6 {
		thread := fmt.Sprint("t", i)
		w.end(t, w.start(t, thread, big), runs.Success)
		w.end(t, w.start(t, thread, "again"), runs.Success)
		if bytes, n := w.m.DecodedBytes(); bytes > runs.MaxDecoded || n == 0 {
			t.Fatalf("%d bytes of %d threads are kept, at most %d may", bytes, n, runs.MaxDecoded)
		}
	}
	if _, n := w.m.DecodedBytes(); n == 6 {
		t.Error("nothing was dropped")
	}
	w.sound(t)
}
