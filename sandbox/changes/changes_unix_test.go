//go:build unix

package changes_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/sandbox/changes"
	"fawn/sandbox/files"
	"fawn/sandbox/linediff"
	"fawn/web/e2e/gate"
)

// world is a thread and what is known of its changes.
type world struct {
	*testing.T
	dirs    files.Dirs
	history changes.History
	at      string
}

func open(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, dirs: files.Dirs{Root: t.TempDir()}}
	w.history = changes.New(w.dirs)
	w.at = filepath.Join(w.dirs.Root, "threads", "t", "user-data")
	must.Do(w, w.dirs.Create("t"))
	return w
}

// write makes files of name, content pairs.
func (w *world) write(parts ...string) {
	w.Helper()
	for i := 0; i+1 < len(parts); i += 2 {
		at := filepath.Join(w.at, parts[i])
		must.Do(w, os.MkdirAll(filepath.Dir(at), 0o700))
		must.Do(w, os.WriteFile(at, []byte(parts[i+1]), 0o600))
	}
}

// run is a run that does something.
func (w *world) run(id string, do func()) changes.Record {
	w.Helper()
	must.Do(w, w.history.Before(w.Context(), "t", id))
	do()
	return w.after(id)
}

func (w *world) after(id string) (r changes.Record) {
	w.Helper()
	body, done, err := w.history.After(w.Context(), "t", id)
	must.Do(w, err)
	must.Do(w, done())
	if body != nil {
		must.Do(w, json.Unmarshal(body, &r))
	}
	return r
}

// told is a record in short.
func told(r changes.Record) string {
	out := []string{fmt.Sprintf("%d %d %d +%d -%d", r.Summary.Created, r.Summary.Modified, r.Summary.Deleted,
		r.Summary.Additions, r.Summary.Deletions)}
	for _, f := range r.Files {
		s := fmt.Sprintf("%s %s/%s", f.Status, f.Root, f.Name())
		if f.Why != nil {
			s += " " + string(*f.Why)
		}
		out = append(out, s)
	}
	return strings.Join(out, "; ")
}

func (w *world) is(r changes.Record, want string) {
	w.Helper()
	if got := told(r); got != want {
		w.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestARunTellsWhatItChanged(t *testing.T) {
	w := open(t)
	w.write("workspace/a.txt", "one\ntwo\n", "workspace/gone.txt", "x\n", "workspace/same.txt", "s", "outputs/p.png",
		"\x00\x01", "workspace/.env.local", "KEY=1")
	one := w.run("r1", func() {
		w.write("workspace/a.txt", "one\n2\nthree\n", "outputs/new.md", "# hi\n", "outputs/p.png", "\x00\x01\x02",
			"workspace/.env.local", "KEY=2", "workspace/same.txt", "s", "uploads/u.txt", "not looked at",
			"workspace/node_modules/m.js", "nor that")
		must.Do(w, os.Remove(filepath.Join(w.at, "workspace/gone.txt")))
		must.Do(w, os.Symlink("/etc/passwd", filepath.Join(w.at, "workspace/link")))
		must.Do(w, syscall.Mkfifo(filepath.Join(w.at, "workspace/pipe"), 0o600))
	})
	w.is(one, "1 3 1 +3 -2; created outputs/new.md; modified outputs/p.png binary; modified workspace/.env.local sensitive; "+
		"modified workspace/a.txt; deleted workspace/gone.txt; symlink_created workspace/link symlink")

	// Later runs and people change the same file; what the first did can still be seen.
	two := w.run("r2", func() { w.write("workspace/a.txt", "all new\n") })
	w.is(two, "0 1 0 +1 -3; modified workspace/a.txt")
	w.write("workspace/a.txt", "by hand\n")
	w.is(w.run("r3", func() {}), "0 0 0 +0 -0")
	lines, ok, err := w.history.Diff("t", one.Files[3])
	must.Do(w, err)
	text, _ := linediff.Unified(lines, "a", "b", 1000)
	if want := "--- a\n+++ b\n@@ -1,2 +1,3 @@\n one\n-two\n+2\n+three\n"; !ok || text != want {
		t.Errorf("%t %q", ok, text)
	}
	entries := must.Get(os.ReadDir(filepath.Join(w.dirs.Root, "threads", "t", "versions")))(w)
	for _, e := range entries {
		data := must.Get(os.ReadFile(filepath.Join(w.dirs.Root, "threads", "t", "versions", e.Name())))(w)
		if len(e.Name()) == 64 && strings.Contains(string(data), "KEY=") {
			t.Error("a file with secrets was kept")
		}
	}
}

// TestWhatARunChangedOutlivesACrash: what was noted before the first attempt counts for all, and
// the end that was not stored is told again.
func TestWhatARunChangedOutlivesACrash(t *testing.T) {
	w := open(t)
	w.write("workspace/a.txt", "1\n")
	must.Do(w, w.history.Before(w.Context(), "t", "r1"))
	w.write("workspace/a.txt", "2\n")
	must.Do(w, w.history.Before(w.Context(), "t", "r1"))
	w.write("workspace/b.txt", "3\n")
	body, _, err := w.history.After(w.Context(), "t", "r1") // and the server ends before that is stored
	must.Do(w, err)
	const want = "1 1 0 +2 -1; modified workspace/a.txt; created workspace/b.txt"
	var r changes.Record
	must.Do(w, json.Unmarshal(body, &r))
	w.is(r, want)
	w.is(w.after("r1"), want)
	w.is(w.after("r1"), "0 0 0 +0 -0")
}

// TestACrashBehindARunsEndShiftsNothing to the next run: what the first changed was stored with its
// end, but how the files were then was not.
func TestACrashBehindARunsEndShiftsNothing(t *testing.T) {
	w := open(t)
	w.write("workspace/a.txt", "1\n")
	must.Do(w, w.history.Before(w.Context(), "t", "r1"))
	w.write("workspace/a.txt", "2\n")
	must.Get2(w.history.After(w.Context(), "t", "r1"))(t)
	w.history = changes.New(w.dirs) // of the next server
	w.is(w.run("r2", func() { w.write("workspace/b.txt", "3\n") }), "1 0 0 +1 -0; created workspace/b.txt")
}

// TestManyFilesAreNotTakenForChanges: those that a run left alone are in no record, also where
// there are more of them than versions are kept, and those it wrote are.
func TestManyFilesAreNotTakenForChanges(t *testing.T) {
	n := gate.Pick(400, 400, 20_000)
	w := open(t)
	for i := range n {
		w.write(fmt.Sprintf("workspace/%02d/%05d.txt", i%50, i), "x\n")
	}
	w.write("outputs/report.md", "one\n")
	r := w.run("r1", func() { w.write("outputs/report.md", "two\n", "outputs/new.md", "new\n") })
	w.is(r, "1 1 0 +2 -1; created outputs/new.md; modified outputs/report.md")
}

func TestARunWithoutToolsChangesNothing(t *testing.T) {
	w := open(t)
	w.write("workspace/a.txt", "1")
	w.is(w.after("r1"), "0 0 0 +0 -0")
	for _, id := range []string{"none", "../t"} {
		if body, _, err := w.history.After(t.Context(), id, "r1"); body != nil || id == "none" && err != nil {
			t.Errorf("thread %s: %s %v", id, body, err)
		}
	}
}

// TestAChangeWithinTheSameTimesIsSeen: a program can set the time of a file, and one that is
// quick leaves the size.
func TestAChangeWithinTheSameTimesIsSeen(t *testing.T) {
	w := open(t)
	w.write("workspace/a.txt", "1\n")
	at := time.Now().Add(-time.Hour)
	name := filepath.Join(w.at, "workspace/a.txt")
	must.Do(w, os.Chtimes(name, at, at))
	r := w.run("r1", func() {
		w.write("workspace/a.txt", "2\n")
		must.Do(w, os.Chtimes(name, at, at))
	})
	w.is(r, "0 1 0 +1 -1; modified workspace/a.txt")
}

func TestListsAndVersionsAreBounded(t *testing.T) {
	w := open(t)
	w.dirs.Quota = files.NewQuota(8 << 20)
	w.history = changes.New(w.dirs)
	big := strings.Repeat("line\n", 40_000) // 200 KB each
	r := w.run("r1", func() {
		for i := range changes.MaxFiles + 5 {
			w.write(fmt.Sprintf("workspace/%03d.txt", i), "x\n")
		}
		for i := range 10 {
			w.write(fmt.Sprintf("outputs/%d.txt", i), big+fmt.Sprint(i))
		}
		w.write("outputs/large.txt", strings.Repeat("x", changes.MaxText+1))
	})
	if len(r.Files) != changes.MaxFiles || r.Summary.Created != changes.MaxFiles+16 || !r.Summary.Truncated {
		t.Errorf("%d listed, %+v", len(r.Files), r.Summary)
	}
	var sum int64
	entries := must.Get(os.ReadDir(filepath.Join(w.dirs.Root, "threads", "t", "versions")))(w)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && len(e.Name()) == 64 {
			sum += info.Size()
		}
	}
	if sum == 0 || sum > 1<<20 {
		t.Errorf("%d bytes of versions are kept", sum)
	}
	with := must.Get(w.dirs.Usage(t.Context(), "t"))(w)
	must.Do(w, os.RemoveAll(filepath.Join(w.dirs.Root, "threads", "t", "versions")))
	without := must.Get(w.dirs.Usage(t.Context(), "t"))(w)
	if with < without+sum {
		t.Errorf("versions do not count: %d with, %d without", with, without)
	}
}

func TestALookEndsWithItsContext(t *testing.T) {
	w := open(t)
	w.write("workspace/a.txt", "1")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.history.Before(ctx, "t", "r1"); err == nil {
		t.Error("no error")
	}
}
