package runs_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/runs"
	"fawn/agent/runs/runevent"
	"fawn/store"
)

// pausing is parrot with a hook after the answer that tells that it began, and ends when it is let go.
type pausing struct {
	agent.Agent
	calls       atomic.Int32 // of the model
	began, goOn chan struct{}
}

func newPausing() *pausing {
	p := &pausing{began: make(chan struct{}, 1), goOn: make(chan struct{})}
	p.Model = modelOf(func(ctx context.Context, req *agent.Request, yield func(agent.Chunk, error) bool) {
		p.calls.Add(1)
		parrot(ctx, req, yield)
	})
	p.Chain = []agent.Middleware{{Name: "pause", AfterAgent: func(ctx context.Context, _ *agent.Turn) (agent.State, error) {
		select {
		case p.began <- struct{}{}:
		default:
		}
		select {
		case <-p.goOn:
			return agent.State{}, nil
		case <-ctx.Done():
			return agent.State{}, ctx.Err()
		}
	}}}
	return p
}

// paused starts a run and returns when its hook has begun and readers have the whole answer.
func (w *world) paused(t *testing.T, p *pausing) store.Run {
	t.Helper()
	run := w.start(t, "t1", "hi")
	<-p.began
	w.until(t, run, func(e runevent.Event) bool { return e.Kind == runevent.KindFinish })
	return run
}

// TheLastStepIsStoredWithTheEnd in one commit, behind the hooks after the answer.
func (s suite) TheLastStepIsStoredWithTheEnd(t *testing.T) {
	p := newPausing()
	w := s.open(t, t.TempDir(), &p.Agent)
	run := w.paused(t, p)
	if got := texts(w.state(t, "t1", "")); got != "human:hi" {
		t.Errorf("messages before the end:\n%s", got)
	}
	before := w.db.Work().Commits
	close(p.goOn)
	w.end(t, run, runs.Success)
	held(w.m)
	if n := w.db.Work().Commits - before; n != 1 {
		t.Errorf("%d commits, want 1", n)
	}
	if got := texts(w.state(t, "t1", "")); got != "human:hi\nai:re: hi" {
		t.Errorf("messages:\n%s", got)
	}
	evs := w.read(t, run.ID, 0)
	if n := len(evs); n < 2 || evs[n-1].Kind != runevent.KindEnd || evs[n-2].Kind != runevent.KindStep {
		t.Errorf("events: %s", shape(evs))
	}
	w.sound(t)
}

// APlanEditedBehindTheLastStepIsKept although the step waits for the end.
func (s suite) APlanEditedBehindTheLastStepIsKept(t *testing.T) {
	p := newPausing()
	w := s.open(t, t.TempDir(), &p.Agent)
	run := w.paused(t, p)
	must.Get(w.m.EditPlan(t.Context(), "t1", func([]agent.Todo) ([]agent.Todo, error) {
		return []agent.Todo{{Content: "check"}}, nil
	}))(t)
	close(p.goOn)
	w.end(t, run, runs.Success)
	if st := w.state(t, "t1", ""); items(st.Todos) != "1:check" || texts(st) != "human:hi\nai:re: hi" {
		t.Errorf("plan %s, messages:\n%s", items(st.Todos), texts(st))
	}
	w.sound(t)
}

// AStopBehindTheLastStepKeepsIt: the next server has no need to ask the model again.
func (s suite) AStopBehindTheLastStepKeepsIt(t *testing.T) {
	p, dir := newPausing(), t.TempDir()
	w := s.open(t, dir, &p.Agent)
	run := w.paused(t, p)
	w.close()
	close(p.goOn)
	w = s.open(t, dir, &p.Agent)
	w.end(t, run, runs.Success)
	if got := texts(w.state(t, "t1", "")); got != "human:hi\nai:re: hi" || p.calls.Load() != 1 {
		t.Errorf("%d calls of the model; messages:\n%s", p.calls.Load(), got)
	}
	w.sound(t)
}

// AStopBehindAPlanEditedKeepsBoth the last step and the change.
func (s suite) AStopBehindAPlanEditedKeepsBoth(t *testing.T) {
	p, dir := newPausing(), t.TempDir()
	w := s.open(t, dir, &p.Agent)
	run := w.paused(t, p)
	must.Get(w.m.EditPlan(t.Context(), "t1", func([]agent.Todo) ([]agent.Todo, error) {
		return []agent.Todo{{Content: "check"}}, nil
	}))(t)
	w.close()
	close(p.goOn)
	w = s.open(t, dir, &p.Agent)
	w.end(t, run, runs.Success)
	if st := w.state(t, "t1", ""); items(st.Todos) != "1:check" || texts(st) != "human:hi\nai:re: hi" || p.calls.Load() != 1 {
		t.Errorf("%d calls of the model; plan %s, messages:\n%s", p.calls.Load(), items(st.Todos), texts(st))
	}
	w.sound(t)
}

// ARollbackBehindTheLastStepRevertsIt.
func (s suite) ARollbackBehindTheLastStepRevertsIt(t *testing.T) {
	p := newPausing()
	w := s.open(t, t.TempDir(), &p.Agent)
	run := w.paused(t, p)
	must.Do(t, w.m.Rollback(t.Context(), "t1", run.ID, true))
	if snap, err := w.db.Snapshot(t.Context(), "t1", ""); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("state: %+v, %v", snap, err)
	}
	if _, err := w.m.Follow(t.Context(), run.ID); !errors.Is(err, runs.ErrNotFound) {
		t.Errorf("the run can still be read: %v", err)
	}
	w.sound(t)
}

// TestALastStepOutlivesAnEndThatCannotBeStored, and a step that can't be stored fails its run.
func TestALastStepOutlivesAnEndThatCannotBeStored(t *testing.T) {
	for _, c := range []struct{ refused, status, messages string }{
		{`BEFORE INSERT ON event WHEN NEW.kind = 'end'`, runs.Success, "human:hi\nai:re: hi"},
		{`BEFORE INSERT ON message WHEN NEW.n > 1`, runs.Failed, "human:hi"},
	} {
		t.Run(c.status, func(t *testing.T) {
			p, dir := newPausing(), t.TempDir()
			w := suite{openSQLite}.open(t, dir, &p.Agent)
			run := w.paused(t, p)
			db := must.Get(sql.Open("sqlite", "file:"+filepath.Join(dir, store.FileName)+"?_pragma=busy_timeout(30000)"))(t)
			defer db.Close()
			must.Get(db.ExecContext(t.Context(), `CREATE TRIGGER no_room `+c.refused+` BEGIN SELECT RAISE(ABORT, 'no room'); END`))(t)
			close(p.goOn)
			w.end(t, run, c.status)
			if got := texts(w.state(t, "t1", "")); got != c.messages {
				t.Errorf("messages:\n%s", got)
			}
			must.Get(db.ExecContext(t.Context(), `DROP TRIGGER no_room`))(t)
			w.sound(t)
		})
	}
}
