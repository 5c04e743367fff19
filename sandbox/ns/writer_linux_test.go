package ns_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/sandbox"
	"fawn/sandbox/files"
	"fawn/sandbox/ns"
	"fawn/sandbox/pool"
)

// TestWhoWritesIsEndedUnlessItBeganTooLate: a count tells nothing about commands that began
// after it, and a command that writes nothing is not blamed.
func TestWhoWritesIsEndedUnlessItBeganTooLate(t *testing.T) {
	cfg := sandbox.DefaultConfig()
	cfg.Dirs.Root = filepath.Join(t.TempDir(), "data")
	cfg.Log = slog.New(slog.DiscardHandler)
	cfg.TestOnly.KillTime = time.Minute
	p := must.Get(ns.New(cfg))(t)
	defer p.Close(t.Context())
	_ = p.Probe(t.Context()) // finds what a start needs
	b, err := ns.Start(t.Context(), p, "a", sandbox.DefaultPolicy())
	if err != nil {
		if os.Getenv("FAWN_CI") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	defer b.Stop()
	clear := func(counted time.Time) bool {
		c := must.Get(b.Clear(t.Context(), counted))(t)
		return c.Call
	}
	before := time.Now()
	waits := begin(t, b, "echo; read")
	if clear(time.Now()) {
		t.Error("a command that writes nothing is blamed")
	}
	writes := begin(t, b, "echo; while :; do head -c 65536 /dev/zero > f; done")
	for range 2 { // whoever is seen a second time goes on
		for !clear(before) {
			if len(writes) > 0 {
				t.Fatalf("who began after the count was ended: %+v", <-writes)
			}
		}
	}
	for len(writes) == 0 && !clear(time.Now()) { // a busy machine may let it write nothing for a moment
	}
	if e := <-writes; !e.Quota || e.Signal != "SIGKILL" {
		t.Errorf("who writes: %+v", e)
	}
	select {
	case e := <-waits:
		t.Errorf("who waits was ended: %+v", e)
	default:
	}
}

// begin starts a command, whose input stays open, and waits for its first line.
func begin(t *testing.T, b pool.Box, command string) <-chan pool.Exit {
	t.Helper()
	in, hold := must.Get2(os.Pipe())(t)
	out, w := must.Get2(os.Pipe())(t)
	t.Cleanup(func() { _, _ = hold.Close(), out.Close() })
	ended := make(chan pool.Exit, 1)
	go func() {
		e, err := b.Run(t.Context(), pool.Job{Command: command, Cwd: files.Workspace, In: in, Out: w, Errs: w,
			Env: []string{"PATH=/usr/bin:/bin"}})
		if err != nil {
			t.Error(err)
		}
		ended <- e
	}()
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(command, err)
	}
	return ended
}
