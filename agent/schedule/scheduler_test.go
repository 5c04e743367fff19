package schedule_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/runs"
	"fawn/agent/schedule"
	"fawn/store"
)

// world is a scheduler over a real store and run manager, with a clock of its own.
type world struct {
	db *store.DB
	m  *runs.Manager
	s  *schedule.Scheduler

	mu  sync.Mutex
	now time.Time
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) set(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = now
}

var begin = time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)

// open starts everything over a folder. close ends it, as at a shutdown.
func open(t *testing.T, dir string, a *agent.Agent) (w *world, closeAll func()) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	db := must.Get(store.Open(t.Context(), store.Config{Dir: dir, Log: log}))(t)
	w = &world{db: db, now: begin}
	w.m = runs.New(runs.Config{DB: db, Log: log, Build: func(context.Context, runs.Spec) (*agent.Agent, error) {
		return a, nil
	}})
	if err := w.m.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.s = schedule.New(schedule.Config{DB: db, Runs: w.m, Log: log, MaxRuns: 2, Poll: time.Minute, Now: w.clock})
	closeAll = sync.OnceFunc(func() {
		w.m.Close()
		w.s.Close()
		db.Close()
	})
	t.Cleanup(closeAll)
	return w, closeAll
}

func says() *agent.Agent {
	replies := make([]agenttest.Reply, 20)
	for i := range replies {
		replies[i] = agenttest.Say("done")
	}
	return &agent.Agent{Model: &agenttest.Script{Replies: replies}}
}

// waits is an agent whose runs end when let is closed.
func waits(let <-chan struct{}) *agent.Agent {
	wait := &agent.Tool{Name: "wait", Description: "waits", Schema: json.RawMessage(`{"type":"object"}`),
		Run: func(ctx context.Context, _ *agent.Turn, _ agent.ToolCall) (agent.Result, error) {
			select {
			case <-let:
			case <-ctx.Done():
			}
			return agent.Result{Content: agent.Text("ok"), End: true}, nil
		}}
	replies := make([]agenttest.Reply, 20)
	for i := range replies {
		replies[i] = agenttest.Call(fmt.Sprint("c", i), "wait", `{}`)
	}
	return &agent.Agent{Tools: []*agent.Tool{wait}, Model: &agenttest.Script{Replies: replies}}
}

// cron stores one that is due at its next time after the clock's.
func (w *world) cron(t *testing.T, c store.Cron) store.Cron {
	t.Helper()
	if c.Kind == "" {
		c.Kind = store.CronRepeats
	}
	c.Enabled, c.Assistant, c.After = true, "lead_agent", orKeep(c.After)
	if c.Payload == nil {
		c.Payload = json.RawMessage(`{"input":{"messages":"tick"}}`)
	}
	var err error
	if c.NextAt, err = schedule.Plan(c, w.clock()); err != nil {
		t.Fatal(err)
	}
	if c, err = w.db.CreateCron(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	return c
}

func orKeep(s string) string {
	if s == "" {
		return "keep"
	}
	return s
}

func (w *world) tick(t *testing.T) time.Time {
	t.Helper()
	next := must.Get(w.s.Tick(t.Context()))(t)
	return next
}

// starts are what happened to a cron, newest first.
func (w *world) starts(t *testing.T, cron string) []store.CronRun {
	t.Helper()
	list := must.Get(w.db.CronRuns(t.Context(), cron, 99, 0))(t)
	return list
}

func TestCronStartsWhenItIsDueAndIsDueAgain(t *testing.T) {
	w, _ := open(t, t.TempDir(), says())
	c := w.cron(t, store.Cron{ID: "c", Schedule: "30 9 * * *", Timezone: "Europe/Berlin",
		Metadata: json.RawMessage(`{"k":"v"}`)})
	if next := w.tick(t); !next.Equal(begin.Add(30*time.Minute)) || len(w.starts(t, "c")) != 0 {
		t.Fatalf("before its time: %s %v", next, w.starts(t, "c"))
	}
	w.set(begin.Add(30*time.Minute + 7*time.Second))
	if next := w.tick(t); !next.Equal(begin.Add(24*time.Hour + 30*time.Minute)) {
		t.Errorf("next is %s", next)
	}
	w.s.Settle()
	list := w.starts(t, "c")
	if len(list) != 1 || list[0].Status != store.CronSuccess || !list[0].DueAt.Equal(c.NextAt) ||
		list[0].FinishedAt.IsZero() || list[0].Trigger != schedule.Scheduled {
		t.Fatalf("%+v", list)
	}
	run, err := w.db.Run(t.Context(), list[0].Run)
	if err != nil || run.Status != runs.Success || run.ThreadID != list[0].Thread ||
		string(run.Metadata) != `{"cron_id":"c","k":"v"}` {
		t.Errorf("%+v %v", run, err)
	}
	w.tick(t)
	if n := len(w.starts(t, "c")); n != 1 {
		t.Errorf("looking again made %d starts", n)
	}
}

func TestMissedTimesAreMadeUpForOnce(t *testing.T) {
	w, _ := open(t, t.TempDir(), says())
	w.cron(t, store.Cron{ID: "c", Schedule: "0 * * * *"})
	w.set(begin.Add(10*24*time.Hour + time.Second))
	if next := w.tick(t); !next.Equal(begin.Add(10*24*time.Hour + time.Hour)) {
		t.Errorf("next is %s", next)
	}
	w.s.Settle()
	if list := w.starts(t, "c"); len(list) != 1 || !list[0].DueAt.Equal(begin.Add(time.Hour)) {
		t.Errorf("%+v", list)
	}
}

func TestCronEnds(t *testing.T) {
	w, _ := open(t, t.TempDir(), says())
	w.cron(t, store.Cron{ID: "c", Schedule: "0 * * * *", EndAt: begin.Add(90 * time.Minute)})
	w.cron(t, store.Cron{ID: "once", Kind: store.CronOnce, RunAt: begin.Add(time.Hour)})
	w.set(begin.Add(time.Hour))
	if next := w.tick(t); !next.IsZero() {
		t.Errorf("there is a next: %s", next)
	}
	w.s.Settle()
	for _, id := range []string{"c", "once"} {
		if n := len(w.starts(t, id)); n != 1 {
			t.Errorf("%s started %d times", id, n)
		}
	}
}

func TestRunsOfATaskDoNotOverlap(t *testing.T) {
	let := make(chan struct{})
	w, _ := open(t, t.TempDir(), waits(let))
	c := w.cron(t, store.Cron{ID: "c", Schedule: "* * * * *", Overlap: "skip"})
	w.set(begin.Add(time.Minute))
	w.tick(t)
	w.set(begin.Add(2 * time.Minute))
	w.tick(t)
	list := w.starts(t, "c")
	if len(list) != 2 || list[0].Status != store.CronSkipped || list[0].FinishedAt.IsZero() ||
		list[1].Status != store.CronRunning {
		t.Errorf("%+v", list)
	}
	if _, err := w.s.Trigger(t.Context(), c); !errors.Is(err, schedule.ErrBusy) {
		t.Errorf("trigger: %v", err)
	}
	close(let)
	w.s.Settle()
	r, err := w.s.Trigger(t.Context(), c)
	if err != nil || r.Trigger != schedule.Manual {
		t.Errorf("%+v %v", r, err)
	}
	w.s.Settle()
	if now, err := w.db.Cron(t.Context(), "", "c"); err != nil || !now.NextAt.Equal(begin.Add(3*time.Minute)) {
		t.Errorf("starting by hand moved the schedule: %+v %v", now, err)
	}
}

func TestOnlySoManyRunsGoOnAtOnce(t *testing.T) {
	let := make(chan struct{})
	w, _ := open(t, t.TempDir(), waits(let))
	for i := range 3 {
		w.cron(t, store.Cron{ID: fmt.Sprint("c", i), Kind: store.CronOnce, RunAt: begin.Add(time.Minute)})
	}
	w.set(begin.Add(time.Minute))
	if next := w.tick(t); !next.IsZero() {
		t.Errorf("looks again at %s although nothing may start", next)
	}
	if n := len(w.starts(t, "c2")); n != 0 || w.m.Live() > 2 {
		t.Errorf("the third has %d starts, %d runs are live", n, w.m.Live())
	}
	close(let)
	w.s.Settle()
	w.tick(t)
	w.s.Settle()
	if list := w.starts(t, "c2"); len(list) != 1 || list[0].Status != store.CronSuccess {
		t.Errorf("%+v", list)
	}
}

func TestThreadsMadeForARunAreDeletedWhenAskedFor(t *testing.T) {
	w, _ := open(t, t.TempDir(), says())
	must.Do(t, w.db.Commit(t.Context(), store.Batch{Thread: &store.Thread{ID: "mine"}, NewThread: true}))
	w.cron(t, store.Cron{ID: "gone", Kind: store.CronOnce, RunAt: begin.Add(time.Minute), After: "delete"})
	w.cron(t, store.Cron{ID: "kept", Kind: store.CronOnce, RunAt: begin.Add(time.Minute), After: "delete",
		Thread: "mine"})
	w.set(begin.Add(time.Minute))
	w.tick(t)
	w.s.Settle()
	for id, there := range map[string]bool{"gone": false, "kept": true} {
		list := w.starts(t, id)
		if len(list) != 1 || list[0].Status != store.CronSuccess {
			t.Fatalf("%s: %+v", id, list)
		}
		if _, err := w.db.Thread(t.Context(), list[0].Thread); (err == nil) != there {
			t.Errorf("thread of %s: %v", id, err)
		}
	}
}

func TestAStartThatFailsIsNoted(t *testing.T) {
	w, _ := open(t, t.TempDir(), says())
	w.cron(t, store.Cron{ID: "c", Kind: store.CronOnce, RunAt: begin.Add(time.Minute),
		Payload: json.RawMessage(`{"input":{"messages":[{"role":"wizard"}]}}`)})
	w.set(begin.Add(time.Minute))
	w.tick(t)
	w.s.Settle()
	if list := w.starts(t, "c"); len(list) != 1 || list[0].Status != store.CronFailed || list[0].Error == "" ||
		!list[0].StartedAt.IsZero() || list[0].FinishedAt.IsZero() {
		t.Errorf("%+v", list)
	}
}

func TestARestartTakesUpWhatWasBegun(t *testing.T) {
	dir := t.TempDir()
	let := make(chan struct{})
	w, stop := open(t, dir, waits(let))
	c := w.cron(t, store.Cron{ID: "c", Schedule: "0 * * * *"})
	// A crash between storing the start and storing the run.
	begun := store.CronRun{ID: "r1", Cron: "c", Run: "run-1", Thread: "thread-1", Trigger: schedule.Scheduled,
		Status: store.CronStarting, DueAt: c.NextAt}
	must.Do(t, w.db.ClaimCron(t.Context(), begun, c.NextAt, c.NextAt.Add(time.Hour)))
	err := w.db.ClaimCron(t.Context(), begun, c.NextAt, c.NextAt.Add(time.Hour))
	if !errors.Is(err, store.ErrConflict) {
		t.Errorf("claimed twice: %v", err)
	}
	// A crash behind storing the run.
	other := begun
	other.ID, other.Run, other.Thread = "r2", "run-2", "thread-2"
	must.Do(t, w.db.ClaimCron(t.Context(), other, time.Time{}, time.Time{}))
	must.Get(w.m.Start(t.Context(),
		runs.Request{ID: "run-2", Thread: "thread-2", Input: json.RawMessage(`{"messages":"x"}`)}))(t)
	stop()

	close(let)
	w, _ = open(t, dir, says())
	for range 2 { // a second try changes nothing
		must.Do(t, w.s.Resume(t.Context()))
		w.s.Settle()
	}
	list := w.starts(t, "c")
	if len(list) != 2 {
		t.Fatalf("%+v", list)
	}
	for _, r := range list {
		row, err := w.db.Run(t.Context(), r.Run)
		if err != nil || !runs.Done(row.Status) || r.FinishedAt.IsZero() || r.Status == store.CronStarting ||
			r.Status == store.CronRunning {
			t.Errorf("%+v: run %+v %v", r, row, err)
		}
		if all, err := w.db.Runs(t.Context(), r.Thread, "", 0, 0); err != nil || len(all) != 1 {
			t.Errorf("%d runs on %s (%v)", len(all), r.Thread, err)
		}
	}
}

func TestRunStartsWhatIsDueWhenWokenAndEndsWithItsContext(t *testing.T) {
	w, _ := open(t, t.TempDir(), says())
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); w.s.Run(ctx) }()
	w.cron(t, store.Cron{ID: "c", Kind: store.CronOnce, RunAt: begin.Add(time.Minute)})
	w.set(begin.Add(time.Minute))
	w.s.Wake()
	for deadline := time.Now().Add(time.Minute); ; {
		list := w.starts(t, "c")
		if len(list) == 1 && list[0].Status == store.CronSuccess {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("it did not start: %+v", list)
		}
		time.Sleep(5 * time.Millisecond)
	}
	cancel()
	<-done
}
