package runs_test

import (
	"strings"
	"testing"

	"fawn/agent/runs"
	"fawn/store"
	"fawn/store/pgtest"
)

// ALostAnswerIsFoundOut: the database has stored a run, and the connection is lost before it says so. The run has begun
// once.
func (c cluster) ALostAnswerIsFoundOut(t *testing.T) {
	wire := pgtest.NewWire(t, c.url)
	a, b := c.join(t, wire.URL, 1, always(parrotAgent())), c.join(t, c.url, 1, always(parrotAgent()))
	line := func(thread string) []store.Place {
		list, err := b.db.Line(t.Context(), thread)
		if err != nil {
			t.Error(err)
		}
		return list
	}

	wire.MuteAfter("hang here")
	started := make(chan store.Run)
	go func() {
		defer close(started)
		started <- a.start(t, "t1", "hang here")
	}()
	eventually(t, "a run is stored", func() bool { return len(line("t1")) == 1 })
	select {
	case <-started:
		t.Error("the answer was not lost")
	default:
	}
	wire.Break()
	wire.Thaw()
	run := <-started
	b.until(t, run, text("here"))
	if got := line("t1"); len(got) != 1 || got[0].Run != run.ID {
		t.Errorf("in line are %v", got)
	}

	if err := b.m.Cancel(t.Context(), "t1", run.ID, true); err != nil {
		t.Error(err)
	}
	if got := texts(b.state(t, "t1", "")); strings.Count(got, "human:hang here") != 1 {
		t.Errorf("the thread says %s", got)
	}
	select {
	case err := <-a.lost:
		t.Errorf("the server has given up: %v", err)
	default:
	}
	whole(t, a, b)
}

// ALostClaimBegins: a server has claimed a run, and the connection is lost before it is told which. The run begins a
// moment later, there and once.
func (c cluster) ALostClaimBegins(t *testing.T) {
	wire := pgtest.NewWire(t, c.url)
	a, b := c.join(t, c.url, 1, always(parrotAgent())), c.join(t, wire.URL, 1, always(parrotAgent()))
	busy := a.start(t, "busy", "hang here")
	a.until(t, busy, text("here"))
	wire.Swallow("\x00\x01\x00\x00\x00\x07claimed") // a row of one column with that
	run := a.start(t, "claimed", "hello there")
	a.end(t, run, runs.Success)
	if !wire.Swallowed() {
		t.Error("no answer was lost")
	}
	row, err := a.db.Run(t.Context(), run.ID)
	if err != nil || row.Attempt != 1 {
		t.Errorf("it took %d attempts: %v", row.Attempt, err)
	}
	if got := texts(a.state(t, "claimed", "")); strings.Count(got, "human:") != 1 || strings.Count(got, "ai:") != 1 {
		t.Errorf("the thread says %s", got)
	}
	if err := a.m.Cancel(t.Context(), "busy", busy.ID, true); err != nil {
		t.Error(err)
	}
	select {
	case err := <-b.lost:
		t.Errorf("the server has given up: %v", err)
	default:
	}
	whole(t, a, b)
}
