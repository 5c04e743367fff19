package runs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/runs"
	"fawn/agent/runs/runevent"
	"fawn/store"
	"fawn/store/pgtest"
	"fawn/web/e2e/gate"
)

// newRemoteCluster has a database of its own.
func newRemoteCluster(t *testing.T) cluster {
	if raceDetector && !gate.Soaking() {
		t.Skip("in make nightly-cluster: it is slow under the race detector")
	}
	return cluster{url: pgtest.URL(t)}
}

// seen is what a reader sees of a run past a cursor until its end, or until an event is there.
func (w *world) seen(ctx context.Context, run string, after int64, until func(runevent.Event) bool) ([]string, error) {
	r, err := w.m.Follow(ctx, run)
	if err != nil {
		return nil, err
	}
	list := []string{}
	for {
		evs, err := r.Next(ctx, after)
		if err != nil || len(evs) == 0 {
			return list, err
		}
		for _, ev := range evs {
			body, err := json.Marshal(ev)
			if err != nil {
				return list, err
			}
			list = append(list, string(body))
			if until != nil && until(ev) {
				return list, nil
			}
		}
		after = evs[len(evs)-1].To
	}
}

// sameSeen compares what readers have seen, who began behind a number of events.
func sameSeen(t *testing.T, what string, got, want []string, behind int) {
	t.Helper()
	if want = want[min(behind, len(want)):]; slices.Equal(got, want) {
		return
	}
	i := 0
	for i < min(len(got), len(want)) && got[i] == want[i] {
		i++
	}
	at := func(list []string) string {
		if i < len(list) {
			return list[i]
		}
		return "nothing"
	}
	t.Errorf("%s: %d events, want %d; number %d is\n%s, want\n%s", what, len(got), len(want), i, at(got), at(want))
}

// talker says words with pauses, calls a tool in between, and has a step for each.
func talker() *agent.Agent {
	return &agent.Agent{Model: modelOf(func(ctx context.Context, req *agent.Request,
		yield func(agent.Chunk, error) bool) {
		for i := range 5 + rand.IntN(30) {
			if !yield(agent.Chunk{Text: fmt.Sprintf("word %d ", i)}, nil) {
				return
			}
			if rand.IntN(4) == 0 {
				time.Sleep(rand.N(6 * time.Millisecond))
			}
		}
		yield(agent.Chunk{Finish: "stop"}, nil)
	})}
}

// TestClusterRunsAreReadElsewhereAsTheyAreThere: 200 runs, while the reader's server stands still now and then and
// loses the connection on which it hears of others.
func TestClusterRunsAreReadElsewhereAsTheyAreThere(t *testing.T) {
	c := newRemoteCluster(t)
	wire := pgtest.NewWire(t, c.url)
	a, b := c.join(t, c.url, 0, always(talker())), c.join(t, wire.URL, 1, always(talker()))
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		disturb(t, c.url, wire, b.db.Self(), stop)
	}()
	const total, atOnce = 200, 10
	var wg sync.WaitGroup
	for lane := range atOnce {
		wg.Go(func() {
			for i := range total / atOnce {
				readBoth(t, a, b, fmt.Sprintf("t%d", lane), i)
			}
		})
	}
	wg.Wait()
	close(stop)
	<-stopped
	whole(t, a, b)
}

// readBoth starts a run at a, and reads it there, at b from its beginning, and at b from where a reader has gone.
func readBoth(t *testing.T, a, b *server, thread string, i int) {
	ctx := t.Context()
	run, err := a.m.Start(ctx, runs.Request{Thread: thread, Input: human(fmt.Sprint(i)), Multitask: "enqueue"})
	if err != nil {
		t.Error(err)
		return
	}
	var wg sync.WaitGroup
	var here, there, rest []string
	var errHere, errThere, errRest error
	behind := 0
	wg.Go(func() { here, errHere = a.seen(ctx, run.ID, 0, nil) })
	wg.Go(func() { there, errThere = b.seen(ctx, run.ID, 0, nil) })
	wg.Go(func() {
		time.Sleep(rand.N(40 * time.Millisecond))
		stop := 1 + rand.IntN(12)
		var first []string
		var after int64
		first, errRest = b.seen(ctx, run.ID, 0, func(ev runevent.Event) bool {
			behind, after = behind+1, ev.To
			return behind == stop
		})
		if errRest == nil {
			rest, errRest = b.seen(ctx, run.ID, after, nil)
		}
		rest = append(first, rest...)
	})
	wg.Wait()
	if errHere != nil || errThere != nil || errRest != nil {
		t.Errorf("run %d of %s: %v, %v, %v", i, thread, errHere, errThere, errRest)
	}
	if len(here) < 5 {
		t.Errorf("run %d of %s has %d events", i, thread, len(here))
	}
	sameSeen(t, fmt.Sprintf("run %d of %s elsewhere", i, thread), there, here, 0)
	sameSeen(t, fmt.Sprintf("run %d of %s elsewhere, left and read on", i, thread), rest, here, 0)
}

// disturb lets a server stand still for moments, and cuts the connection on which it hears of others.
func disturb(t *testing.T, url string, wire *pgtest.Wire, node int64, stop chan struct{}) {
	conn, err := pgx.Connect(context.Background(), url)
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close(context.Background())
	cuts := 0
	for {
		select {
		case <-stop:
			if cuts == 0 {
				t.Error("no connection was cut")
			}
			return
		case <-time.After(rand.N(100 * time.Millisecond)):
		}
		wire.Freeze()
		time.Sleep(rand.N(80 * time.Millisecond))
		wire.Thaw()
		var n int
		err := conn.QueryRow(context.Background(), `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
			WHERE application_name = $1 AND query LIKE 'LISTEN%'`, fmt.Sprintf("fawn/%d", node)).Scan(&n)
		if err != nil {
			t.Error(err)
			return
		}
		cuts += n
	}
}

// TestClusterLateReaders see an open step whole: from the beginning, and from its middle.
func TestClusterLateReaders(t *testing.T) {
	c := newRemoteCluster(t)
	a, b := c.join(t, c.url, 0, always(parrotAgent())), c.join(t, c.url, 1, always(parrotAgent()))
	run := a.start(t, "t", "hang after many a word that was said")
	a.until(t, run, text("said"))
	var middle int64
	here := must.Get(a.seen(t.Context(), run.ID, 0, func(ev runevent.Event) bool {
		if text("many")(ev) {
			middle = ev.To
		}
		return text("said")(ev)
	}))(t)
	there := must.Get(b.seen(t.Context(), run.ID, 0, text("said")))(t)
	sameSeen(t, "from the beginning", there, here, 0)
	there = must.Get(b.seen(t.Context(), run.ID, middle, text("said")))(t)
	sameSeen(t, "from the middle", there, here, len(here)-len(there))
	if len(there) == 0 || len(there) >= len(here) || !strings.Contains(there[0], "a ") {
		t.Errorf("from the middle: %q", there)
	}
	must.Report(t, b.m.Cancel(t.Context(), "t", run.ID, true))
	whole(t, a, b)
}

// TestClusterReadersStayWhenARunChangesItsServer: they have what it had shown, and what comes after, wherever it goes
// on.
func TestClusterReadersStayWhenARunChangesItsServer(t *testing.T) {
	for _, here := range []bool{false, true} {
		t.Run(fmt.Sprintf("to the reader's server=%v", here), func(t *testing.T) {
			c := newRemoteCluster(t)
			dir := t.TempDir()
			wire := pgtest.NewWire(t, c.url)
			a := c.joinFor(t, shortLease, wire.URL, 0, func(_ context.Context, s runs.Spec) (*agent.Agent, error) {
				return cutAgent(dir, "answer"), nil
			})
			run := a.start(t, "t", "go")
			a.until(t, run, text("half"))
			b := c.join(t, c.url, 1, always(cutAgent(dir, "")))
			other := b
			if !here {
				other = c.join(t, c.url, 0, always(cutAgent(dir, "")))
				b.m.Drain(t.Context())
			}
			half := make(chan struct{})
			got := make(chan []string, 1)
			go func() {
				var once sync.Once
				list, err := b.seen(t.Context(), run.ID, 0, func(ev runevent.Event) bool {
					if text("half")(ev) {
						once.Do(func() { close(half) })
					}
					return false
				})
				if err != nil {
					t.Error(err)
				}
				got <- list
			}()
			<-half
			wire.Freeze()
			row := other.end(t, run, runs.Success)
			if row.Attempt != 2 {
				t.Errorf("attempt %d", row.Attempt)
			}
			want := must.Get(other.seen(t.Context(), run.ID, 0, nil))(t)
			sameSeen(t, "across the change", <-got, want, 0)
			<-a.lost
			whole(t, b)
		})
	}
}

// TestClusterWhatIsGoneFromTheTailIsReadInRows: a reader's server that stood still finds rows of the tail swept.
func TestClusterWhatIsGoneFromTheTailIsReadInRows(t *testing.T) {
	c := newRemoteCluster(t)
	wire := pgtest.NewWire(t, c.url)
	gate := make(chan struct{})
	a := c.join(t, c.url, 0, always(&agent.Agent{Model: modelOf(func(_ context.Context, _ *agent.Request,
		yield func(agent.Chunk, error) bool) {
		yield(agent.Chunk{Text: "one "}, nil)
		<-gate
		yield(agent.Chunk{Text: "two "}, nil)
		yield(agent.Chunk{Text: "three", Finish: "stop"}, nil)
	})}))
	b := c.join(t, wire.URL, 1, always(parrotAgent()))
	conn := must.Get(pgx.Connect(t.Context(), c.url))(t)
	defer conn.Close(context.Background())
	run := a.start(t, "t", "go")
	one, got := make(chan struct{}), make(chan []string, 1)
	go func() {
		list, err := b.seen(t.Context(), run.ID, 0, func(ev runevent.Event) bool {
			if text("one")(ev) {
				close(one)
			}
			return false
		})
		if err != nil {
			t.Error(err)
		}
		got <- list
	}()
	<-one
	wire.Freeze()
	close(gate)
	a.end(t, run, runs.Success)
	tail := pgtest.Schema(t.Name()) + ".tail"
	tag, err := conn.Exec(t.Context(), `DELETE FROM `+tail+` WHERE id >> 40 = $1
		AND id < (SELECT max(id) FROM `+tail+` WHERE id >> 40 = $1)`, a.db.Self())
	wire.Thaw()
	if err != nil || tag.RowsAffected() == 0 {
		t.Errorf("%d rows were swept: %v", tag.RowsAffected(), err)
	}
	want := must.Get(a.seen(t.Context(), run.ID, 0, nil))(t)
	sameSeen(t, "across rows that were swept", <-got, want, 0)
	whole(t, a, b)
}

// TestClusterServersThatOnlyLookReadEachOther, where nobody is told that there is something.
func TestClusterServersThatOnlyLookReadEachOther(t *testing.T) {
	c := newRemoteCluster(t)
	var both []*server
	for range 2 {
		db := must.Get(store.Open(t.Context(), store.Config{Dir: t.TempDir(), URL: c.url, Schema: "cluster", Cluster: true,
			Wake: store.WakePoll, Log: quiet()}))(t)
		s := &server{&world{db: db, m: runs.New(runs.Config{DB: db, Log: quiet(), Build: always(talker())})}, nil}
		t.Cleanup(s.close)
		must.Do(t, s.m.Recover(t.Context()))
		both = append(both, s)
	}
	for i := range 10 {
		readBoth(t, both[0], both[1], "t", i)
	}
	whole(t, both...)
}
