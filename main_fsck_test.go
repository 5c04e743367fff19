//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/store"
	"fawn/store/pgtest"
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
	must.Try(os.Stat(filepath.Join(dir, "lost", "nobody", "user-data", "kept.txt")))(t)
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

// TestFsckSaysWhichEventsAreDoubledOrMissing: with thread, run and numbers, in the rows of chats, in each kind of database.
func TestFsckSaysWhichEventsAreDoubledOrMissing(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"SQLite", "PostgreSQL"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			at, conf := store.Config{Dir: t.TempDir()}, ""
			if kind == "PostgreSQL" {
				at.URL = pgtest.Storage(t)
				conf = fmt.Sprintf("database: {url: %q}", at.URL)
			}
			args := []string{"--data", at.Dir, "--config", configured(t, conf)}
			s := serve(t, nil, args...)
			for _, thread := range []string{"doubled", "short"} {
				call[any](t, s, "POST", "/threads/"+thread+"/runs/wait", input("echo 5 tokens at 0 tok/s"))
			}
			run := map[string]string{"doubled": runsOf(t, s, "doubled")[0].ID, "short": runsOf(t, s, "short")[0].ID}
			s.end(t, os.Interrupt)
			fsck := func(more ...string) result {
				return finished(t, program(t, nil, append(append([]string{"fsck"}, more...), args...)...))
			}
			if r := fsck(); r.code != exitOK || r.stdout != "Every reference is whole.\n" {
				t.Fatalf("all is well: exit code %d\n%s%s", r.code, r.stdout, r.stderr)
			}

			db, err := store.Open(t.Context(), at)
			if err != nil {
				t.Fatal(err)
			}
			broad := func(thread string) (found store.Event) { // a row that stands for several numbers
				t.Helper()
				rows, err := db.Events(t.Context(), thread, 0, 0, 0)
				for _, e := range rows {
					if e.Run == run[thread] && e.To > e.Seq+1 && found.Seq == 0 {
						found = e
					}
				}
				if err != nil || found.Seq == 0 {
					t.Fatalf("no such row: %+v, %v", rows, err)
				}
				return found
			}
			twice, lost := broad("doubled"), broad("short")
			err = errors.Join(
				db.Commit(t.Context(), store.Batch{ThreadID: "doubled",
					Events: []store.Event{{Seq: twice.Seq, To: twice.To - 1, Run: "late", Kind: twice.Kind, Data: twice.Data}}}),
				db.Commit(t.Context(), store.Batch{ThreadID: "short", Delete: &store.Delete{EventsFrom: lost.Seq, EventsTo: lost.To}}),
				db.Close())
			if err != nil {
				t.Fatal(err)
			}
			for _, more := range [][]string{nil, {"--repair"}} { // what was lost cannot be mended
				r := fsck(more...)
				for _, want := range []string{
					fmt.Sprintf("Thread doubled: events %d to %d were given twice, in run late and in run %s.\n", twice.Seq, twice.To-1, run["doubled"]),
					fmt.Sprintf("Run %s of thread short: events %d to %d are missing.\n", run["short"], lost.Seq, lost.To),
				} {
					if !strings.Contains(r.stdout, want) {
						t.Errorf("%s: no %q in\n%s%s", more, want, r.stdout, r.stderr)
					}
				}
				if r.code != exitError {
					t.Errorf("%s: exit code %d\n%s%s", more, r.code, r.stdout, r.stderr)
				}
			}
		})
	}
}
