package process_test

import (
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/agent/mcp/process"
)

// TestWorkIsSeen: a process that computes changes its number, one that waits does not.
func TestWorkIsSeen(t *testing.T) {
	start := func(script string) *process.Process {
		p := must.Get(process.Start(process.Command{Path: "/bin/sh", Args: []string{"-c", script}, Dir: t.TempDir()}, func(string) {}))(t)
		t.Cleanup(p.End)
		return p
	}
	busy, quiet := start("while :; do :; done"), start("read x")
	before := busy.Activity()
	for end := time.Now().Add(time.Minute); busy.Activity() == before; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nothing is seen of a process that computes")
		}
	}
	if n := quiet.Activity(); n > 5 { // its start takes some
		t.Errorf("a process that waits has done %d", n)
	}
}
