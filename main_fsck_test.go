//go:build unix

package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fawn/store"
)

// TestFsckNamesWhatIsBrokenAndMendsWhatIsSafe plants damage in the folder of a server that
// was used, and runs the command as people do.
func TestFsckNamesWhatIsBrokenAndMendsWhatIsSafe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := serve(t, nil, "--data", dir)
	call[any](t, s, "POST", "/threads/t1/runs/wait", input("echo 5 tokens at 0 tok/s"))
	if r := finished(t, program(t, nil, "fsck", "--data", dir)); r.code != exitError ||
		!strings.Contains(r.stderr, "process") {
		t.Errorf("while a server is running: exit code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	s.end(t, os.Interrupt)
	if err := os.MkdirAll(filepath.Join(dir, "threads", "probe-abcdefghijkl"), 0o700); err != nil { // a kill left it
		t.Fatal(err)
	}
	if r := finished(t, program(t, nil, "fsck", "--data", dir)); r.code != exitOK ||
		r.stdout != "Every reference is whole.\n" || r.stderr != "" {
		t.Errorf("all is well: exit code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	damage(t, dir)
	broken := []string{"Thread t1 has head gone, which does not exist.",
		"needs messages 7 to 9, which are not all there.", "Message 60 of thread t1 cannot be read",
		"Thread t2 is busy, and no run of it is open.", "Folder threads/nobody belongs to no thread or project."}
	r := finished(t, program(t, nil, "fsck", "--data", dir))
	for _, want := range broken {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("no %q in\n%s", want, r.stdout)
		}
	}
	if r.code != exitError || strings.Count(r.stdout, "\n") != len(broken) {
		t.Errorf("exit code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	r = finished(t, program(t, nil, "fsck", "--repair", "--data", dir))
	for i, want := range broken { // damaged content cannot be mended
		if strings.Contains(r.stdout, want) != (i == 1 || i == 2) {
			t.Errorf("%q in\n%s", want, r.stdout)
		}
	}
	if r.code != exitError || !strings.Contains(r.stdout, "Mended: ") {
		t.Errorf("exit code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	if _, err := os.Stat(filepath.Join(dir, "lost", "nobody", "user-data", "kept.txt")); err != nil {
		t.Error(err)
	}
	if list, err := filepath.Glob(filepath.Join(dir, "fawn-before-repair-*.db")); err != nil || len(list) != 1 {
		t.Errorf("copies: %v, %v", list, err)
	}
	s = serve(t, nil, "--data", dir)
	if got := status(t, s, "t2"); got != "idle" {
		t.Errorf("thread is %s", got)
	}
	if r := finished(t, program(t, nil, "fsck", "--data", filepath.Join(dir, "none"))); r.code != exitError ||
		!strings.Contains(r.stderr, "none") {
		t.Errorf("no folder: exit code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
}

// damage breaks a head, a card, a body, a status and leaves a folder behind.
func damage(t *testing.T, dir string) {
	t.Helper()
	db, err := store.Open(t.Context(), store.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	gone := "gone"
	err = errors.Join(
		db.Commit(t.Context(), store.Batch{ThreadID: "t1", Patch: &store.ThreadPatch{Head: &gone},
			Messages: []store.MessageRow{{N: 60, ID: "m", Body: []byte(`{`)}},
			Checkpoints: []store.Checkpoint{
				{ID: "00000000", Card: store.Card{Messages: []store.Range{{From: 7, To: 9}}}},
			}}),
		db.Commit(t.Context(), store.Batch{NewThread: true, Thread: &store.Thread{ID: "t2", Status: "busy"}}),
		db.Close(),
		os.MkdirAll(filepath.Join(dir, "threads", "nobody", "user-data"), 0o700),
		os.WriteFile(filepath.Join(dir, "threads", "nobody", "user-data", "kept.txt"), []byte("kept"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
}
