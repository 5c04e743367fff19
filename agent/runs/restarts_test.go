package runs_test

import (
	"context"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/runs"
)

// ARunOutlivesAnyNumberOfStops of the server, although nothing of it is stored between them.
func (s suite) ARunOutlivesAnyNumberOfStops(t *testing.T) {
	dir := t.TempDir()
	w := s.open(t, dir, parrotAgent())
	run := w.start(t, "t1", "hang on")
	w.until(t, run, text("on"))
	for range 5 {
		w.close()
		w = s.open(t, dir, parrotAgent())
		w.until(t, run, text("on"))
	}
	w.close()
	w = s.open(t, dir, &agent.Agent{Model: &agenttest.Script{Replies: []agenttest.Reply{agenttest.Say("at last")}}})
	if row := w.end(t, run, runs.Success); row.StopReason != "" {
		t.Errorf("run: %+v", row)
	}
	if got := texts(w.state(t, "t1", "")); !strings.HasSuffix(got, "ai:at last") {
		t.Errorf("messages:\n%s", got)
	}
	if kept, err := w.db.KV(context.Background(), "", "stopped_runs", run.ID); err == nil {
		t.Errorf("its stops are still kept: %s", kept)
	}
	w.sound(t)
}
