package runs_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/runs"
	"fawn/store"
	"fawn/store/pgtest"
)

// TestAFullPostgreSQLEndsTheRunAndKeepsWhatWasShown fills its disk while a model speaks. The store stays unhealthy as
// long as it is full. The run ends with that error, nothing shown is lost, and with room the next one works.
func TestAFullPostgreSQLEndsTheRunAndKeepsWhatWasShown(t *testing.T) {
	small := pgtest.StartSmall(t, 24<<20)
	said := make(chan struct{})
	db := must.Get(openPostgres(t.Context(), small.URL, t.TempDir()))(t)
	speaks := func(ctx context.Context, _ *agent.Request, yield func(agent.Chunk, error) bool) {
		if !yield(agent.Chunk{Text: "shown "}, nil) {
			return
		}
		<-said
		must.Report(t, small.Fill())
		for range 20 {
			if ctx.Err() != nil || !yield(agent.Chunk{Text: strings.Repeat("lost ", 20<<10)}, nil) {
				break
			}
		}
		<-ctx.Done()
		if !errors.Is(context.Cause(ctx), runs.ErrStorage) {
			t.Errorf("cancelled with %v", context.Cause(ctx))
		}
		for end := time.Now().Add(3 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			if err := db.Healthy(); !errors.Is(err, store.ErrFull) {
				t.Errorf("the store is %v", err)
				break
			}
		}
		must.Report(t, small.Free())
		yield(agent.Chunk{}, ctx.Err())
	}
	w := &world{db: db, m: runs.New(runs.Config{DB: db, Log: quiet(), Build: func(_ context.Context, s runs.Spec) (
		*agent.Agent, error) {
		if s.ThreadID == "t1" {
			return &agent.Agent{Model: modelOf(speaks)}, nil
		}
		return parrotAgent(), nil
	}})}
	t.Cleanup(w.close)
	run := w.start(t, "t1", "hi")
	w.until(t, run, text("shown"))
	close(said)
	w.end(t, run, runs.Failed)
	if f := w.failure(t, run); f.Error != "storage_full" {
		t.Errorf("failure = %+v", f)
	}
	if evs := w.read(t, run.ID, 0); !slices.ContainsFunc(evs, text("shown")) {
		t.Errorf("events: %.100s", shape(evs))
	}
	if got := texts(w.state(t, "t1", "")); !strings.HasPrefix(got, "human:hi\nai:shown") {
		t.Errorf("messages: %.60s", got)
	}
	w.end(t, w.start(t, "t2", "hello"), runs.Success)
	eventually(t, "the store is healthy", func() bool { return db.Healthy() == nil })
	w.sound(t)
}
