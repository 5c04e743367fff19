package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// restorable is a data folder with one chat and a file, and a backup of another one.
type restorable struct {
	old, unpacked, backup string
}

func newRestorable(t *testing.T) restorable {
	t.Helper()
	made := func(thread string) string {
		dir := t.TempDir()
		s := serve(t, nil, "--data", dir)
		call[any](t, s, "POST", "/threads", `{"thread_id": "`+thread+`"}`)
		putFile(t, s, thread, "notes.txt", "of the "+thread+" one")
		s.end(t, os.Interrupt)
		if err := os.Remove(filepath.Join(dir, "lock")); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return dir
	}
	r := restorable{old: made("old"), backup: filepath.Join(t.TempDir(), "b.tar.gz"),
		unpacked: filepath.Join(t.TempDir(), "u")}
	if out := finished(t, program(t, nil, "backup", r.backup, "--data", made("new"))); out.code != exitOK {
		t.Fatalf("%+v", out)
	}
	if out := finished(t, program(t, nil, "restore", r.backup, "--data", r.unpacked)); out.code != exitOK {
		t.Fatalf("%+v", out)
	}
	return r
}

// names are what is in a folder, in the order in which a restore moves it: the database last.
func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != "lock" && e.Name() != "fawn.db" {
			list = append(list, e.Name())
		}
	}
	return append(list, "fawn.db")
}

// serves checks that a folder has one chat with its file, whose id is one of those given, and no rest of a
// restore. It says which.
func serves(t *testing.T, dir string, threads ...string) string {
	t.Helper()
	s := serve(t, nil, "--data", dir)
	list := call[[]struct {
		ID string `json:"thread_id"`
	}](t, s, "GET", "/threads", "")
	if len(list) != 1 || !slices.Contains(threads, list[0].ID) {
		t.Fatalf("threads: %+v, want one of %v", list, threads)
	}
	id := list[0].ID
	if got := page(t, s, "/api/threads/"+id+"/artifacts/mnt/user-data/uploads/notes.txt"); got != "of the "+id+" one" {
		t.Errorf("its file: %q", got)
	}
	s.end(t, os.Interrupt)
	if left, err := filepath.Glob(filepath.Join(dir, ".restore-*")); err != nil || len(left) > 0 {
		t.Errorf("left are %v %v", left, err)
	}
	return id
}

// TestARestoreThatWasCutOffIsFinished wherever it was: the next start goes on with it.
func TestARestoreThatWasCutOffIsFinished(t *testing.T) {
	t.Parallel()
	r := newRestorable(t)
	const stage, aside = ".restore-20260102T030405.000", "before-restore-20260102T030405.000"
	old, fresh := names(t, r.old), names(t, r.unpacked)
	type cut struct {
		state         string
		aside, placed int // how many names are moved
		want          string
	}
	cuts := []cut{{"", 0, 0, "old"}}
	for _, n := range []int{0, 1, len(old) - 1, len(old)} {
		cuts = append(cuts, cut{".aside", n, 0, "new"})
	}
	for _, n := range []int{0, 1, len(fresh) - 1, len(fresh)} {
		cuts = append(cuts, cut{".place", len(old), n, "new"})
	}
	for _, c := range cuts {
		t.Run(fmt.Sprintf("%q %d %d", c.state, c.aside, c.placed), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			copyAll(t, r.old, dir)
			copyAll(t, r.unpacked, filepath.Join(dir, stage+c.state))
			if c.aside > 0 {
				moveAll(t, dir, filepath.Join(dir, aside), old[:c.aside])
			}
			moveAll(t, filepath.Join(dir, stage+c.state), dir, fresh[:c.placed])
			serves(t, dir, c.want)
			if c.want == "new" {
				serves(t, filepath.Join(dir, aside), "old")
			}
		})
	}
}

func copyAll(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

func moveAll(t *testing.T, from, to string, list []string) {
	t.Helper()
	if err := os.MkdirAll(to, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range list {
		if err := os.Rename(filepath.Join(from, name), filepath.Join(to, name)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAKilledRestoreLosesNothing at moments of the machine's choice: there is either all that was
// there, or all of the backup.
func TestAKilledRestoreLosesNothing(t *testing.T) {
	t.Parallel()
	r := newRestorable(t)
	whole := program(t, nil, "restore", r.backup, "--data", t.TempDir())
	began := time.Now()
	if out := finished(t, whole); out.code != exitOK {
		t.Fatalf("%+v", out)
	}
	took, seen := time.Since(began), map[string]int{}
	const times = 8
	for i := range times {
		dir := filepath.Join(t.TempDir(), "d")
		copyAll(t, r.old, dir)
		cmd := program(t, nil, "restore", r.backup, "--force", "--data", dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		kill := time.AfterFunc(took*time.Duration(i+4)/(times+2), func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		kill.Stop()
		seen[serves(t, dir, "old", "new")]++
	}
	t.Logf("killed within %v: %v", took, seen)
}
