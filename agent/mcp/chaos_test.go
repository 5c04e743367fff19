package mcp_test

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/agent/mcp"
	"fawn/agent/mcp/mcptest"
)

func TestDeadServersCostNothing(t *testing.T) {
	dead := stdio("dead", "dies")
	dead.Env["API_TOKEN"], dead.Secrets = canary, []string{canary}
	gone := mcp.Server{Name: "gone", Type: mcp.Stdio, Command: "fawn-no-such-program"}
	w := newWorld(t, stdio("good", "good"), stdio("hangs", "hangs"), dead, stdio("floods", "floods"), gone)
	if got := w.says("t", "good_echo", "x"); got != "x" {
		t.Errorf("echo says %q beside broken servers", got)
	}
	if s := w.state("dead", mcp.StateFailed); !strings.Contains(s.Error, "cannot find my configuration") ||
		s.Next == nil {
		t.Errorf("the dead server: %+v", s)
	}
	s := w.state("gone", mcp.StateUnavailable)
	if !strings.Contains(s.Error, `"fawn-no-such-program" isn't installed`) {
		t.Errorf("the missing server: %+v", s)
	}
	if s := w.status("hangs"); s.State != mcp.StateConnecting {
		t.Errorf("the hanging server: %+v", s)
	}
	if strings.Contains(w.logs.String(), canary) {
		t.Error("the log shows the secret")
	}
}

func TestHungStartEnds(t *testing.T) {
	s := stdio("hangs", "hangs")
	s.StartTimeout = 50 * time.Millisecond
	w := newWorld(t, s)
	if st := w.state("hangs", mcp.StateFailed); !strings.Contains(st.Error, "did not answer within 50ms") {
		t.Errorf("the status: %+v", st)
	}
	w.Await(t.Context()) // it has had its time
	must.Do(t, w.Close())
	s.StartTimeout = 2 * patience
	next := worldIn(t, w.dir, s)
	soon, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if next.Await(soon); soon.Err() != nil {
		t.Error("runs wait for it again after a restart")
	}
}

// TestHugeResultIsNotHeld: of 100 MB no more is taken than the limit, and what reading it costs.
func TestHugeResultIsNotHeld(t *testing.T) {
	w := newWorld(t, stdio("s", "huge"))
	w.has("s_huge")
	before := allocated()
	r := w.call("t", "s_huge", "")
	if want := "it sent a message larger than 2 MiB"; !strings.Contains(r.Content.Text, want) {
		t.Errorf("the call says %.2000q", r.Content.Text)
	}
	if took := allocated() - before; took > mcptest.HugeResult/4 {
		t.Errorf("%d MB were taken for a result of %d MB", took>>20, mcptest.HugeResult>>20)
	}
}

// allocated is how many bytes were ever taken.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// TestFloodIsSlowedDown: what a server writes without an end waits in its pipe.
func TestFloodIsSlowedDown(t *testing.T) {
	s := stdio("s", "floods")
	s.StartTimeout = 3 * time.Second
	before := allocated()
	w := newWorld(t, s)
	w.state("s", mcp.StateFailed)
	if took := allocated() - before; took > 500<<20 {
		t.Errorf("%d MB were taken for a server that floods", took>>20)
	}
}
