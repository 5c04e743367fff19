package runs_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
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

	must.Report(t, b.m.Cancel(t.Context(), "t1", run.ID, true))
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
	must.Report(t, a.m.Cancel(t.Context(), "busy", busy.ID, true))
	select {
	case err := <-b.lost:
		t.Errorf("the server has given up: %v", err)
	default:
	}
	whole(t, a, b)
}

// ARunOfAServerThatIsGoneIsEnded as was asked for: what it had shown and not stored is stored once.
func (c cluster) ARunOfAServerThatIsGoneIsEnded(t *testing.T) {
	b, run := c.leaves(t, func(b *server, run store.Run) error {
		return b.m.Cancel(t.Context(), "t1", run.ID, false)
	})
	b.end(t, run, runs.Interrupted)
	b.apart(t, "t1")
	if got := texts(b.state(t, "t1", "")); strings.Count(got, "ai:") != 1 || !strings.Contains(got, "here") {
		t.Errorf("the thread says %s", got)
	}
	whole(t, b)
}

// ARunOfAServerThatIsGoneIsTakenBack: nothing of it is stored then, also of what it had shown last.
func (c cluster) ARunOfAServerThatIsGoneIsTakenBack(t *testing.T) {
	b, run := c.leaves(t, func(b *server, run store.Run) error {
		return b.m.Rollback(t.Context(), "t1", run.ID, false)
	})
	eventually(t, "the run is taken back", func() bool {
		_, err := b.db.Run(t.Context(), run.ID)
		return errors.Is(err, store.ErrNotFound)
	})
	b.end(t, b.start(t, "t1", "hello"), runs.Success)
	b.apart(t, "t1")
	whole(t, b)
}

// leaves has a server go in the middle of a run that somebody then ends from the one that is left.
func (c cluster) leaves(t *testing.T, end func(*server, store.Run) error) (left *server, run store.Run) {
	wire := pgtest.NewWire(t, c.url)
	a, b := c.joinFor(t, shortLease, wire.URL, 0, always(parrotAgent())), c.join(t, c.url, 0, always(parrotAgent()))
	run = a.start(t, "t1", "hang here")
	a.until(t, run, text("here"))
	wire.Freeze()
	must.Do(t, end(b, run))
	return b, run
}

// apart checks that the stored events of a thread are those of its runs, one behind the other.
func (w *world) apart(t *testing.T, thread string) {
	t.Helper()
	next := int64(math.MaxInt64)
	must.Report(t, w.db.EventsBack(t.Context(), thread, next, func(e store.Event) (bool, error) {
		if e.To >= next || e.Run == "" {
			t.Errorf("events %d to %d are of run %q, and the ones behind them begin with %d", e.Seq, e.To, e.Run, next)
		}
		next = e.Seq
		return true, nil
	}))
}
