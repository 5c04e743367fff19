//go:build unix

package store_test

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/store"
	"fawn/store/pgtest"
)

// TestAStoppedServerWritesNothing once another has taken its place, however soon after it goes on.
func TestAStoppedServerWritesNothing(t *testing.T) {
	waits(t)
	url := pgtest.URL(t)
	c := startChild(t, url, t.TempDir(), nodeLease)
	signal(t, c, syscall.SIGSTOP)
	db := openNode(t, url, t.TempDir(), longLease, nil)
	before := greatest(t, db)
	signal(t, c, syscall.SIGCONT)
	told := c.last(20)
	err := c.cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != exitFenced {
		t.Errorf("the stopped server: %v", err)
	}
	if after := greatest(t, db); after != before || told > before {
		t.Errorf("message %d was the last, now %d, and the stopped server was told of %d", before, after, told)
	}
	if err := db.Commit(t.Context(), store.Batch{ThreadID: "t", Messages: []store.MessageRow{{N: before + 1, ID: "m",
		Body: []byte("{}")}}}); err != nil {
		t.Errorf("its successor: %v", err)
	}
}

func signal(t *testing.T, c *child, s os.Signal) {
	t.Helper()
	must.Do(t, c.cmd.Process.Signal(s))
}
