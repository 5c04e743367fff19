package runs_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/runs"
	"fawn/agent/runs/runevent"
	"fawn/store"
	"fawn/store/pgtest"
	"fawn/web/e2e/gate"
)

// shortLease is that of servers that will be gone, so that they are not waited for long. A busy machine may let nobody
// renew a lease for seconds.
const shortLease = 10 * time.Second

// server is one of several with the same database.
type server struct {
	*world
	lost chan error
}

// cluster is what several servers do with one database: each method with a capital is a test.
type cluster struct{ url string }

func TestCluster(t *testing.T) {
	if raceDetector && !gate.Soaking() {
		t.Skip("in make nightly-cluster: it is slow under the race detector")
	}
	c := cluster{pgtest.URL(t)}
	t.Run("all", func(t *testing.T) {
		all := reflect.ValueOf(c)
		for i := range all.NumMethod() {
			t.Run(all.Type().Method(i).Name, func(t *testing.T) {
				t.Parallel() // they wait most of the time
				all.Method(i).Interface().(func(*testing.T))(t)
			})
		}
	})
}

// join starts a server, reaching the database at an address.
func (c cluster) join(t *testing.T, url string, slots int, build runs.Build) *server {
	t.Helper()
	return c.joinFor(t, time.Minute, url, slots, build)
}

func (c cluster) joinFor(t *testing.T, lease time.Duration, url string, slots int, build runs.Build) *server {
	t.Helper()
	lost := make(chan error, 1)
	db := must.Get(store.Open(t.Context(), store.Config{Dir: t.TempDir(), URL: url, Schema: pgtest.Schema(t.Name()),
		Cluster: true, Lease: lease, Log: quiet(), Lost: func(err error) { lost <- err }}))(t)
	s := &server{&world{db: db, m: runs.New(runs.Config{DB: db, Log: quiet(), Slots: slots, Build: build})}, lost}
	t.Cleanup(s.close)
	must.Do(t, s.m.Recover(t.Context()))
	return s
}

func always(a *agent.Agent) runs.Build {
	return func(context.Context, runs.Spec) (*agent.Agent, error) { return a, nil }
}

// whole checks what must hold once nothing runs anywhere.
func whole(t *testing.T, servers ...*server) {
	t.Helper()
	for _, s := range servers {
		s.sound(t)
	}
}

// eventually waits until something is so.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in time: %s", what)
		}
	}
}

// ARunElsewhereIsEndedFromHere: at work there, or waiting in its line; with its readers told the end.
func (c cluster) ARunElsewhereIsEndedFromHere(t *testing.T) {
	a, b := c.join(t, c.url, 0, always(parrotAgent())), c.join(t, c.url, 0, always(parrotAgent()))
	working := a.start(t, "t1", "hang one")
	a.until(t, working, text("hang"))
	waiting := b.startAs(t, "t1", "two", "enqueue")
	last := b.startAs(t, "t1", "three", "enqueue")
	if n := b.m.Live(); n != 0 {
		t.Errorf("%d runs are kept where they only wait", n)
	}
	must.Report(t, a.m.Cancel(t.Context(), "t1", waiting.ID, true))
	a.end(t, waiting, runs.Interrupted)
	must.Report(t, b.m.Cancel(t.Context(), "t1", working.ID, true))
	b.end(t, working, runs.Interrupted)
	b.end(t, last, runs.Success)
	if err := b.m.Rollback(t.Context(), "t1", working.ID, true); !errors.Is(err, runs.ErrNotCancelable) {
		t.Errorf("rolled back after its end: %v", err)
	}
	undone := a.start(t, "t3", "hang three")
	a.until(t, undone, text("hang"))
	must.Report(t, b.m.Rollback(t.Context(), "t3", undone.ID, true))
	if _, err := b.db.Run(t.Context(), undone.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a run that was taken back is there: %v", err)
	}
	gone := a.start(t, "t2", "hang two")
	a.until(t, gone, text("hang"))
	next := b.startAs(t, "t2", "next", "rollback")
	b.end(t, next, runs.Success)
	if _, err := b.db.Run(t.Context(), gone.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a run that was taken back is there: %v", err)
	}
	must.Report(t, b.m.DeleteThread(t.Context(), "t2"))
	whole(t, a, b)
}

// AWriteKeepsRunsOfAllServersWaiting, and is refused while one has a run. That of a server that is gone does not.
func (c cluster) AWriteKeepsRunsOfAllServersWaiting(t *testing.T) {
	wire := pgtest.NewWire(t, c.url)
	a := c.joinFor(t, shortLease, wire.URL, 0, always(parrotAgent()))
	b := c.join(t, c.url, 0, always(parrotAgent()))
	run := a.start(t, "t1", "hang")
	a.until(t, run, text("hang"))
	title := "changed"
	rename := func(context.Context, *agent.State) (agent.State, error) { return agent.State{Title: &title}, nil }
	if _, err := b.m.Amend(t.Context(), "t1", rename); !errors.Is(err, runs.ErrBusy) {
		t.Errorf("written while a run works elsewhere: %v", err)
	}
	must.Do(t, b.m.Cancel(t.Context(), "t1", run.ID, true))
	must.Try(b.m.Amend(t.Context(), "t1", rename))(t)
	var writing atomic.Bool
	err := a.m.Exclusive(t.Context(), "t1", func(ctx context.Context) error {
		writing.Store(true)
		defer writing.Store(false)
		if _, err := b.m.Amend(ctx, "t1", rename); !errors.Is(err, runs.ErrBusy) {
			t.Errorf("written while another server writes: %v", err)
		}
		run = b.startAs(t, "t1", "next", "enqueue")
		time.Sleep(1500 * time.Millisecond) // in which it is looked for
		if row := b.row(t, run.ID); row.Status != runs.Pending {
			t.Errorf("a run is %s while another server writes", row.Status)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	b.end(t, run, runs.Success)
	whole(t, a, b)

	held := make(chan struct{})
	go a.m.Exclusive(context.Background(), "t1", func(context.Context) error {
		close(held)
		return <-a.lost
	})
	<-held
	wire.Freeze()
	run = b.startAs(t, "t1", "after it", "enqueue")
	b.end(t, run, runs.Success)
	whole(t, b)
}

// ARunBeginsWhereThereIsRoom, the oldest first.
func (c cluster) ARunBeginsWhereThereIsRoom(t *testing.T) {
	var mu sync.Mutex
	var order []string
	build := func(_ context.Context, s runs.Spec) (*agent.Agent, error) {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, s.ThreadID)
		return parrotAgent(), nil
	}
	a := c.join(t, c.url, 1, build)
	first := a.start(t, "t0", "hang")
	a.until(t, first, text("hang"))
	var waiting []store.Run
	for i := range 4 {
		waiting = append(waiting, a.start(t, fmt.Sprint("t", i+1), "short"))
	}
	time.Sleep(1500 * time.Millisecond)
	if n := a.m.Counts().Active; n != 1 {
		t.Errorf("%d are at work where there is room for one", n)
	}
	b := c.join(t, c.url, 1, build)
	for _, run := range waiting {
		a.end(t, run, runs.Success)
	}
	mu.Lock()
	if got := strings.Join(order, " "); got != "t0 t1 t2 t3 t4" {
		t.Errorf("they began as %s", got)
	}
	mu.Unlock()
	must.Report(t, b.m.Cancel(t.Context(), "", first.ID, true))
	whole(t, a, b)
}

// RunsOfAServerThatIsGoneGoOn elsewhere, with what they have shown, and no tool is called twice.
func (c cluster) RunsOfAServerThatIsGoneGoOn(t *testing.T) {
	dir := t.TempDir()
	wire := pgtest.NewWire(t, c.url)
	a := c.joinFor(t, shortLease, wire.URL, 0, func(_ context.Context, s runs.Spec) (*agent.Agent, error) {
		return cutAgent(dir, strings.TrimPrefix(s.ThreadID, "hangs at ")), nil
	})
	inTool, inAnswer := a.start(t, "hangs at second", "go"), a.start(t, "hangs at answer", "go")
	a.until(t, inTool, func(e runevent.Event) bool {
		return e.Kind == runevent.KindToolStart && strings.Contains(string(e.Data), "call_second")
	})
	a.until(t, inAnswer, text("half"))
	behind := a.startAs(t, inAnswer.ThreadID, "behind", "enqueue")
	b, other := c.join(t, c.url, 0, always(cutAgent(dir, ""))), c.join(t, c.url, 0, always(cutAgent(dir, "")))
	wire.Freeze()
	cut := time.Now()
	for _, run := range []store.Run{inTool, inAnswer, behind} {
		if row := b.end(t, run, runs.Success); run.ID != behind.ID && row.Attempt != 2 {
			t.Errorf("run %s has attempt %d", run.ThreadID, row.Attempt)
		}
	}
	t.Logf("all had ended %v after the server was gone", time.Since(cut))
	if err := <-a.lost; !errors.Is(err, store.ErrFenced) {
		t.Error(err)
	}
	effects, err := os.ReadFile(dir + "/effects")
	if n := strings.Count(string(effects), "\n"); err != nil || n != 6 { // two of each run
		t.Errorf("tools were called %d times: %q, %v", n, effects, err)
	}
	got := texts(b.state(t, inTool.ThreadID, ""))
	if !strings.Contains(got, "did first") || !strings.Contains(got, agent.InterruptedResult) {
		t.Errorf("the thread says %s", got)
	}
	whole(t, b, other)
}

// AServerTakesUpWhatIsLeft at its start, when nobody else is there: runs under way, and those behind them.
func (c cluster) AServerTakesUpWhatIsLeft(t *testing.T) {
	a := c.join(t, c.url, 0, always(parrotAgent()))
	run := a.start(t, "t1", "hang one")
	a.until(t, run, text("one"))
	behind := a.startAs(t, "t1", "two", "enqueue")
	a.m.Close()
	must.Do(t, a.db.Close())
	b := c.join(t, c.url, 0, always(parrotAgent()))
	if row := b.row(t, run.ID); row.Attempt != 2 || b.m.Active("t1") != run.ID {
		t.Errorf("attempt %d, and %q is at work", row.Attempt, b.m.Active("t1"))
	}
	must.Report(t, b.m.Cancel(t.Context(), "t1", run.ID, true))
	b.end(t, behind, runs.Success)
	whole(t, b)
}

// LinesOfManyServers: runs are started at random servers, all begin, in order, and one at a time in a thread.
func (c cluster) LinesOfManyServers(t *testing.T) {
	total, threads := gate.Pick(300, 300, 2000), gate.Pick(12, 12, 50)
	working, last := make([]atomic.Int32, threads), make([]atomic.Int64, threads)
	var twice, disorder, elsewhere atomic.Int32
	build := func(self int) runs.Build {
		return func(_ context.Context, s runs.Spec) (*agent.Agent, error) {
			return &agent.Agent{Model: modelOf(func(_ context.Context, req *agent.Request,
				yield func(agent.Chunk, error) bool) {
				var i, from int
				var n int64
				fmt.Sscanf(s.ThreadID, "t%d", &i)
				fmt.Sscanf(agent.LastGenuine(req.Messages).Content.Text, "%d from %d", &n, &from)
				if working[i].Add(1) > 1 {
					twice.Add(1)
				}
				if last[i].Swap(n) > n {
					disorder.Add(1)
				}
				if from != self {
					elsewhere.Add(1)
				}
				time.Sleep(rand.N(4 * time.Millisecond))
				working[i].Add(-1)
				yield(agent.Chunk{Text: "done", Finish: "stop"}, nil)
			})}, nil
		}
	}
	var servers []*server
	for i := range 3 {
		servers = append(servers, c.join(t, c.url, 4, build(i)))
	}
	before := pgtest.Deadlocks(t, c.url)
	var mu [64]sync.Mutex
	var number [64]int64
	var started atomic.Int32
	var wg sync.WaitGroup
	all := make([]store.Run, total)
	began := time.Now()
	for range 8 {
		wg.Go(func() {
			for k := started.Add(1); int(k) <= total; k = started.Add(1) {
				i, s := rand.IntN(threads), rand.IntN(len(servers))
				mu[i].Lock() // so that the order is known
				number[i]++
				run, err := servers[s].m.Start(t.Context(), runs.Request{Thread: fmt.Sprint("t", i),
					Multitask: "enqueue", Input: human(fmt.Sprintf("%d from %d", number[i], s))})
				mu[i].Unlock()
				if err != nil {
					t.Error(err)
				}
				all[k-1] = run
			}
		})
	}
	wg.Wait()
	for _, run := range all {
		row, err := servers[0].m.Wait(t.Context(), run.ID)
		if err != nil || row.Status != runs.Success || row.Attempt != 1 {
			t.Errorf("run %s is %s, %s, at attempt %d: %v", run.ID, row.Status, row.Error, row.Attempt, err)
		}
	}
	t.Logf("%d runs in %v, %d not where they were asked for", total, time.Since(began), elsewhere.Load())
	if n := pgtest.Deadlocks(t, c.url) - before; twice.Load()+disorder.Load() > 0 || n > 0 || elsewhere.Load() == 0 {
		t.Errorf("%d at work twice, %d out of order, %d deadlocks, %d elsewhere", twice.Load(), disorder.Load(), n,
			elsewhere.Load())
	}
	whole(t, servers...)
}

// AServerThatStopsHandsItsRunsOver at the end of a step, which counts as no attempt; what is started there
// meanwhile begins elsewhere.
func (c cluster) AServerThatStopsHandsItsRunsOver(t *testing.T) {
	gate := make(chan struct{})
	var calls, from atomic.Int32
	build := func(self int32) runs.Build {
		tool := &agent.Tool{Name: "wait", Run: func(ctx context.Context, _ *agent.Turn,
			_ agent.ToolCall) (agent.Result, error) {
			calls.Add(1)
			<-gate
			return agent.TextResult("waited"), nil
		}}
		return always(&agent.Agent{Tools: []*agent.Tool{tool},
			Model: modelOf(func(ctx context.Context, req *agent.Request, yield func(agent.Chunk, error) bool) {
				if req.Messages[len(req.Messages)-1].Type == agent.TypeTool {
					from.Store(self)
				} else if agent.LastGenuine(req.Messages).Content.Text == "call" {
					yield(agent.Chunk{Calls: []agent.CallDelta{{ID: "c", Name: "wait", Args: "{}"}}}, nil)
				}
				parrot(ctx, req, yield)
			})})
	}
	a, b := c.join(t, c.url, 0, build(1)), c.join(t, c.url, 0, build(2))
	called, behind := a.start(t, "t1", "call"), a.startAs(t, "t1", "behind", "enqueue")
	hangs := a.start(t, "t2", "hang here")
	a.until(t, called, func(e runevent.Event) bool { return e.Kind == runevent.KindToolStart })
	a.until(t, hangs, text("here"))
	reader, err := a.m.Follow(t.Context(), called.ID)
	if err != nil {
		t.Fatal(err)
	}
	drained := make(chan struct{})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // what hangs holds it up that long
	defer cancel()
	go func() { a.m.Drain(ctx); close(drained) }()
	eventually(t, "it drains", a.m.Draining)
	late := a.start(t, "t3", "late")
	if n := a.m.Counts().Active; n != 2 {
		t.Errorf("%d runs are at work at a server that stops", n)
	}
	close(gate)
	for _, run := range []store.Run{called, behind, late} {
		if row := b.end(t, run, runs.Success); row.Attempt != 1 {
			t.Errorf("run %s had %d attempts", run.ThreadID, row.Attempt)
		}
	}
	var seen []runevent.Event // at a, where it has not ended
	for at := int64(0); err == nil; {
		var more []runevent.Event
		if more, err = reader.Next(t.Context(), at); err == nil && more == nil {
			t.Fatalf("it has ended at a server that stops: %s", shape(seen))
		}
		for _, ev := range more {
			seen, at = append(seen, ev), ev.To
		}
	}
	all := allLines(b.read(t, called.ID, 0))
	rest := allLines(b.read(t, called.ID, seen[len(seen)-1].To))
	if got := append(allLines(seen), rest...); !errors.Is(err, runs.ErrClosed) || !slices.Equal(got, all) {
		t.Errorf("%v after %d events, and %d more, of %d", err, len(seen), len(rest), len(all))
	}
	if calls.Load() != 1 || from.Load() != 2 {
		t.Errorf("the tool was called %d times, and server %d went on", calls.Load(), from.Load())
	}
	<-drained
	a.m.Close()
	must.Report(t, a.db.Close())
	eventually(t, "the other run goes on", func() bool { return b.row(t, hangs.ID).Attempt == 2 })
	must.Report(t, b.m.Cancel(t.Context(), "t2", hangs.ID, true))
	eventually(t, "all have ended", func() bool {
		list, err := b.db.OpenRuns(t.Context())
		return err == nil && len(list) == 0
	})
	whole(t, b)
}

// AHelperElsewhereIsStoppedFromHere, and the run it works for goes on.
func (c cluster) AHelperElsewhereIsStoppedFromHere(t *testing.T) {
	h := &household{hang: true}
	a, b := c.join(t, c.url, 0, h.build), c.join(t, c.url, 0, h.build)
	h.m = a.m
	run := a.start(t, "t1", "go")
	a.until(t, run, text("long report"))
	if err := b.m.CancelTask("t1", "another"); !errors.Is(err, runs.ErrNotFound) {
		t.Errorf("a helper that is not there: %v", err)
	}
	must.Do(t, b.m.CancelTask("t1", "call_a"))
	b.end(t, run, runs.Success)
	if got := texts(b.state(t, "t1", "")); !strings.Contains(got, "tool:the helper was stopped") {
		t.Errorf("the thread says %s", got)
	}
	whole(t, a, b)
}
