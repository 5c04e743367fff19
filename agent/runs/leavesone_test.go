package runs_test

import (
	"context"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/runs"
)

// ARunThatLeavesOneCheckpointOutlivesACrash: the next attempt goes on from its last step,
// runs no tool again, and one checkpoint is left; so it is after the last attempt, too.
func (s suite) ARunThatLeavesOneCheckpointOutlivesACrash(t *testing.T) {
	t.Setenv(cutDir+"_DURABILITY", "exit")
	for _, c := range []struct {
		at, status, messages string
		cuts                 int
	}{
		{"second", runs.Success, "human:go\nai:I look\ntool:did first\ntool:" + agent.InterruptedResult + "\nai:after the tools, whole", 1},
		{"answer", runs.Interrupted, "human:go\nai:I look\ntool:did first\ntool:did second\nai:after the tools, half", 4},
	} {
		t.Run(c.at, func(t *testing.T) {
			dir := t.TempDir()
			for range c.cuts {
				cut(t, dir, c.at)
			}
			w := s.reopened(t, dir)
			run := w.only(t, "t1")
			w.end(t, run, c.status)
			if got := texts(w.state(t, "t1", "")); got != c.messages {
				t.Errorf("messages:\n%s\nwant\n%s", got, c.messages)
			}
			if list := w.checkpoints(t, "t1"); len(list) != 1 || list[0].Parent != "" || list[0].Run != run.ID {
				t.Errorf("checkpoints: %+v", list)
			}
			w.sound(t)
		})
	}
}

// RollbackOfARunThatLeavesOneCheckpoint leaves the thread as it was.
func (s suite) RollbackOfARunThatLeavesOneCheckpoint(t *testing.T) {
	w := s.openWith(t, t.TempDir(),
		runs.Config{Build: func(context.Context, runs.Spec) (*agent.Agent, error) { return parrotAgent(), nil }})
	w.end(t, w.start(t, "t1", "one"), runs.Success)
	before := w.checkpoints(t, "t1")
	run := must.Get(w.m.Start(t.Context(), runs.Request{Thread: "t1", Input: human("hang on"), Durability: "exit"}))(t)
	w.until(t, run, text("on"))
	if list := w.checkpoints(t, "t1"); len(list) != len(before)+1 || list[0].Parent != before[0].ID {
		t.Errorf("checkpoints while it runs: %+v", list)
	}
	must.Do(t, w.m.Rollback(t.Context(), "t1", run.ID, true))
	if list := w.checkpoints(t, "t1"); len(list) != len(before) || w.head(t, "t1").ID != before[0].ID {
		t.Errorf("checkpoints: %+v", list)
	}
	w.sound(t)
}
