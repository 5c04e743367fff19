package runs_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/agent/runs"
	"fawn/agent/runs/runevent"
)

// told reads a run to its end and returns its id.
func told(t *testing.T, r *runs.ThreadReader) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	reader := must.Get(r.Next(ctx))(t)
	last := runevent.Kind(0)
	for at := int64(0); ; {
		evs := must.Get(reader.Next(ctx, at))(t)
		if len(evs) == 0 {
			break
		}
		at, last = evs[len(evs)-1].To, evs[len(evs)-1].Kind
	}
	if last != runevent.KindEnd {
		t.Fatalf("run %s ended with kind %d", reader.Run().ID, last)
	}
	return reader.Run().ID
}

func (s suite) AThreadIsFollowedInTheOrderOfItsRuns(t *testing.T) {
	w := s.open(t, t.TempDir(), parrotAgent())
	old := w.startAs(t, "t1", "old", "")
	w.end(t, old, runs.Success)
	first := w.startAs(t, "t1", "hang one", "")
	w.until(t, first, text("one"))
	second := w.startAs(t, "t1", "two", "enqueue")
	r := must.Get(w.m.FollowThread(t.Context(), "t1", 0))(t)
	must.Do(t, w.m.Cancel(t.Context(), "t1", first.ID, true))
	w.end(t, second, runs.Success)
	for _, want := range []string{first.ID, second.ID} {
		if got := told(t, r); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func (s suite) ACursorChoosesWhatIsFollowed(t *testing.T) {
	w := s.open(t, t.TempDir(), parrotAgent())
	var all []string
	var ends []int64
	for i := range 3 {
		run := w.end(t, w.startAs(t, "t1", fmt.Sprint("word ", i), ""), runs.Success)
		all, ends = append(all, run.ID), append(ends, run.LastSeq)
	}
	for name, c := range map[string]struct {
		after int64
		want  []string
	}{
		"none: the last": {0, all[2:]}, "inside the first": {1, all}, "behind the first": {ends[0], all[1:]},
		"the end": {ends[2], nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := must.Get(w.m.FollowThread(t.Context(), "t1", c.after))(t)
			for _, want := range c.want {
				if got := told(t, r); got != want {
					t.Errorf("got %s, want %s", got, want)
				}
			}
			gone, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := r.Next(gone); !errors.Is(err, context.Canceled) {
				t.Errorf("then: %v", err)
			}
		})
	}
}
