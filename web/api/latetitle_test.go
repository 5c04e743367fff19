package api_test

import (
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
)

// TestAThreadsStreamTellsOfALateTitle: once, to readers who see more than beginnings and
// ends, and not of titles which runs write.
func TestAThreadsStreamTellsOfALateTitle(t *testing.T) {
	w := open(t, sayAgent("hi"))
	w.ok(t, "POST", "/threads", `{"thread_id":"t1"}`)
	w.ok(t, "POST", "/threads/t1/state", `{"values":{"title":"paint <it>"}}`)
	l := w.attend(t, "/threads/t1/stream")
	quiet := w.attend(t, "/threads/t1/stream?stream_mode=lifecycle")
	w.ok(t, "POST", "/threads/t1/runs/wait", `{"input":{"messages":"one"}}`)
	l.until(t, "run_done")
	quiet.until(t, "run_done")
	must.Do(t, w.m.Retitle(t.Context(), "t1", "paint <it>", "Red <paint>"))
	fs := l.until(t, "updates")
	if last := fs[len(fs)-1]; len(fs) != 1 || last.data != `{"update":{"title":"Red <paint>"}}` || last.id != "" {
		t.Errorf("%+v", fs)
	}
	w.ok(t, "POST", "/threads/t1/runs/wait", `{"input":{"messages":"two"}}`)
	for _, reader := range []*attendant{l, quiet} {
		names := events(reader.until(t, "run_done"))
		if !strings.HasPrefix(names, "metadata ") || strings.Contains(names, "updates") {
			t.Errorf("the next run: %s", names)
		}
	}
}
