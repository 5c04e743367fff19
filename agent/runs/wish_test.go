package runs_test

import (
	"context"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/runs"
	"fawn/store"
)

// stubborn says something and listens to nobody until the gate opens.
func stubborn(gate chan struct{}) *agent.Agent {
	return &agent.Agent{Model: modelOf(func(ctx context.Context, req *agent.Request, yield func(agent.Chunk,
		error) bool) {
		if agent.LastGenuine(req.Messages).Content.Text != "stay" {
			parrot(ctx, req, yield)
			return
		}
		yield(agent.Chunk{Text: "half"}, nil)
		<-gate
		yield(agent.Chunk{}, context.Cause(ctx))
	})}
}

// WhatIsToBecomeOfARunIsStored before anybody is told that it will be so.
func (s suite) WhatIsToBecomeOfARunIsStored(t *testing.T) {
	for name, c := range map[string]struct {
		ask  func(*testing.T, *world, store.Run)
		wish string
	}{
		"cancel": {func(t *testing.T, w *world, run store.Run) {
			must.Report(t, w.m.Cancel(t.Context(), "t1", run.ID, false))
		}, store.WishInterrupt},
		"rollback": {func(t *testing.T, w *world, run store.Run) {
			must.Report(t, w.m.Rollback(t.Context(), "t1", run.ID, false))
		}, store.WishRollback},
		"a rollback is not taken back": {func(t *testing.T, w *world, run store.Run) {
			must.Report(t, w.m.Rollback(t.Context(), "t1", run.ID, false))
			must.Report(t, w.m.Cancel(t.Context(), "t1", run.ID, false))
		}, store.WishRollback},
		"another run": {func(t *testing.T, w *world, _ store.Run) { w.startAs(t, "t1", "next", "interrupt") },
			store.WishInterrupt},
		"another run, without a trace": {func(t *testing.T, w *world, _ store.Run) {
			w.startAs(t, "t1", "next", "rollback")
		},
			store.WishRollback},
		"one behind": {func(t *testing.T, w *world, _ store.Run) { w.startAs(t, "t1", "next", "enqueue") }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			gate := make(chan struct{})
			w := s.open(t, t.TempDir(), stubborn(gate))
			run := w.start(t, "t1", "stay")
			w.until(t, run, text("half"))
			c.ask(t, w, run)
			row, err := w.db.Run(t.Context(), run.ID)
			if err != nil || row.Wish != c.wish || row.Status != runs.Running {
				t.Errorf("wish %q of a run that is %s, want %q; %v", row.Wish, row.Status, c.wish, err)
			}
			close(gate)
		})
	}
}

// WishesOutliveTheServer: what a run was to become it becomes at the next start.
func (s suite) WishesOutliveTheServer(t *testing.T) {
	dir := t.TempDir()
	w := s.open(t, dir, parrotAgent())
	stopped, undone, kept := w.start(t, "t1", "hang one"), w.start(t, "t2", "hang two"), w.start(t, "t3", "hang three")
	for _, run := range []store.Run{stopped, undone, kept} {
		w.until(t, run, text("hang"))
	}
	late := w.goOn(t, runs.Request{Thread: "t3", Input: human("four"), Multitask: "interrupt", Hold: true})
	freed := w.held(t, "t1", "five")
	must.Do(t, w.m.Release("t1", freed.ID))
	// As a server does that dies before the runs have ended.
	must.Do(t, w.db.Commit(t.Context(), store.Batch{Wishes: []store.Wish{{Run: stopped.ID, Wish: store.WishInterrupt},
		{Run: undone.ID, Wish: store.WishRollback}}}))
	w.close()

	w = s.open(t, dir, parrotAgent())
	w.end(t, stopped, runs.Interrupted)
	if row, err := w.db.Run(t.Context(), undone.ID); err == nil {
		t.Errorf("a run that was to be taken back is %s", row.Status)
	}
	if got := w.m.Active("t3"); got != kept.ID {
		t.Errorf("%q is at work, want %s: a run that is held ends nothing", got, kept.ID)
	}
	if list := w.m.Waiting("t3"); len(list) != 1 || list[0].ID != late.ID {
		t.Errorf("waiting: %+v", list)
	}
	w.end(t, freed, runs.Success)
	must.Do(t, w.m.CancelAll(t.Context(), "t3"))
	w.sound(t)
}
