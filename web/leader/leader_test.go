package leader_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/runs"
	"fawn/agent/schedule"
	"fawn/store"
	"fawn/store/pgtest"
	"fawn/web/leader"
)

const lease = 10 * time.Second

// server is one of several, with the schedules as its only job.
type server struct {
	db     *store.DB
	m      *runs.Manager
	s      *schedule.Scheduler
	care   *leader.Runner
	works  atomic.Bool  // it has the duty
	begun  atomic.Int64 // how often it was given the duty
	others atomic.Int64 // how often it was told that others are gone
}

func join(t *testing.T, url string) *server {
	t.Helper()
	return joinLooking(t, url, 100*time.Millisecond)
}

// joinLooking starts a server whose schedules look that often.
func joinLooking(t *testing.T, url string, often time.Duration) *server {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	db, err := store.Open(t.Context(), store.Config{Dir: t.TempDir(), URL: url, Schema: pgtest.Schema(t.Name()),
		Cluster: url != "", Lease: lease, Log: log})
	must.Do(t, err)
	s := &server{db: db}
	replies := make([]agenttest.Reply, 200)
	for i := range replies {
		replies[i] = agenttest.Say("done")
	}
	model := &agent.Agent{Model: &agenttest.Script{Replies: replies}}
	s.m = runs.New(runs.Config{DB: db, Log: log, Build: func(context.Context, runs.Spec) (*agent.Agent, error) {
		return model, nil
	}})
	must.Do(t, s.m.Recover(t.Context()))
	s.s = schedule.New(schedule.Config{DB: db, Runs: s.m, Log: log, MaxRuns: 5, Poll: often,
		Shared: true})
	s.care = &leader.Runner{DB: db, Log: log, Jobs: []func(context.Context){func(ctx context.Context) {
		s.begun.Add(1)
		s.works.Store(true)
		defer s.works.Store(false)
		s.s.Run(ctx)
	}}, Gone: func(context.Context, []int64) {
		s.others.Add(1)
		s.s.Recover()
	}}
	t.Cleanup(func() {
		s.care.Stop()
		s.m.Close()
		s.s.Close()
		db.Close()
	})
	return s
}

// plan stores tasks that are due one after the other, the first one in a moment.
func plan(t *testing.T, db *store.DB, n int, every time.Duration) (ids []string) {
	t.Helper()
	for i := range n {
		at := time.Now().Add(time.Duration(i+1) * every)
		c, err := db.CreateCron(t.Context(), store.Cron{ID: fmt.Sprint("task-", i), Kind: store.CronOnce,
			Assistant: "lead_agent", After: "keep",
			Enabled: true, RunAt: at, NextAt: at, Title: fmt.Sprint(i),
			Payload: json.RawMessage(`{"input":{"messages":"tick"}}`)})
		must.Do(t, err)
		ids = append(ids, c.ID)
	}
	return ids
}

// once waits until all tasks have ended, and checks that each started one run.
func once(t *testing.T, db *store.DB, ids []string) {
	t.Helper()
	eventually(t, "all tasks are done", func() bool {
		for _, id := range ids {
			list, err := db.CronRuns(t.Context(), id, 9, 0)
			if err != nil || len(list) == 0 || list[0].FinishedAt.IsZero() {
				return false
			}
		}
		return true
	})
	threads := map[string]bool{}
	for i, id := range ids {
		list, err := db.CronRuns(t.Context(), id, 9, 0)
		if err != nil || len(list) != 1 || list[0].Status != store.CronSuccess {
			t.Errorf("task %d: %+v, %v", i, list, err)
			continue
		}
		run, err := db.Run(t.Context(), list[0].Run)
		if err != nil || threads[run.ThreadID] || run.Status != runs.Success {
			t.Errorf("task %d: its run %s on %s: %s, %v", i, run.ID, run.ThreadID, run.Status, err)
		}
		threads[run.ThreadID] = true
	}
	list, err := db.ThreadsOf(t.Context(), store.DefaultOwner)
	if n := len(list); err != nil || n != len(ids) {
		t.Errorf("%d threads of %d tasks: %v", n, len(ids), err)
	}
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in time: %s", what)
		}
	}
}

// TestWhatIsScheduledStartsOnce: also when the server that has the duty is cut off in the middle, and when the one
// after that stops in order.
func TestWhatIsScheduledStartsOnce(t *testing.T) {
	url := pgtest.URL(t)
	wire := pgtest.NewWire(t, url)
	cut := join(t, wire.URL)
	cut.care.Start()
	eventually(t, "the first server has the duty", cut.works.Load)
	b, c := join(t, url), join(t, url)
	b.care.Start()
	c.care.Start()
	ids := plan(t, b.db, 60, 200*time.Millisecond)
	eventually(t, "some tasks have begun", func() bool {
		list, err := b.db.CronRuns(t.Context(), ids[10], 1, 0)
		return err == nil && len(list) > 0
	})
	if b.works.Load() || c.works.Load() {
		t.Error("the duty is at two servers")
	}
	wire.Freeze()
	eventually(t, "another server has the duty", func() bool { return b.works.Load() || c.works.Load() })
	wire.Break()
	next, last := b, c
	if c.works.Load() {
		next, last = c, b
	}
	if last.works.Load() || last.begun.Load() > 0 {
		t.Error("the duty is at two servers")
	}
	next.care.Stop()
	if next.works.Load() {
		t.Error("its jobs go on")
	}
	eventually(t, "the last server has the duty", last.works.Load)
	once(t, last.db, ids)
}

// TestTwoServersDoNothingTwice: two servers that both believe to have the duty.
func TestTwoServersDoNothingTwice(t *testing.T) {
	url := pgtest.URL(t)
	a, b := join(t, url), join(t, url)
	ctx, stop := context.WithCancel(t.Context())
	ids := plan(t, a.db, 60, 50*time.Millisecond)
	done := make(chan struct{}, 2)
	for _, s := range []*server{a, b} {
		go func() {
			s.s.Run(ctx)
			done <- struct{}{}
		}()
		go func() {
			for ctx.Err() == nil {
				s.s.Recover() // also what the other one has just begun
				time.Sleep(10 * time.Millisecond)
			}
		}()
	}
	once(t, a.db, ids)
	stop()
	<-done
	<-done
}

// TestALoneServerHasAllDuties at once, and asks nobody for them.
func TestALoneServerHasAllDuties(t *testing.T) {
	s := join(t, "")
	s.care.Start()
	eventually(t, "its jobs began", s.works.Load)
	s.care.Stop()
	if s.works.Load() || s.begun.Load() != 1 || s.others.Load() != 0 {
		t.Errorf("works: %v, begun %d times, %d servers gone", s.works.Load(), s.begun.Load(), s.others.Load())
	}
}
