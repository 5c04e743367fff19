//go:build unix

package filestore_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/sandbox/files"
	"fawn/store"
	"fawn/store/filestore"
	"fawn/store/objects"
	"fawn/store/objects/objectstest"
)

// world is a database and a store of objects, which several servers share.
type world struct {
	*testing.T
	db *store.DB
	s3 *objectstest.Server
}

// server is one with folders of its own.
type server struct {
	*testing.T
	*filestore.Trees
	dirs    files.Dirs
	at      string // of the thread t
	objects *counted
	w       *world
}

// counted counts objects that are put, and fails from some number on.
type counted struct {
	filestore.Objects
	mu    sync.Mutex
	puts  int  // guarded by mu
	fail  int  // which put fails, and all behind it; 0 is none
	after bool // the one that fails has put the object
}

var errCut = errors.New("cut off")

func (c *counted) Put(ctx context.Context, name string, r io.ReadSeeker, size int64, sum [sha256.Size]byte) error {
	c.mu.Lock()
	c.puts++
	n := c.puts
	c.mu.Unlock()
	if c.fail > 0 && n >= c.fail {
		if c.after && n == c.fail {
			return errors.Join(errCut, c.Objects.Put(ctx, name, r, size, sum))
		}
		return errCut
	}
	return c.Objects.Put(ctx, name, r, size, sum)
}

func newWorld(t *testing.T) *world {
	s3 := objectstest.Start(t)
	db := must.Get(store.Open(t.Context(), store.Config{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)}))(t)
	t.Cleanup(func() { db.Close() })
	return &world{t, db, s3}
}

func (w *world) server() *server {
	w.Helper()
	return w.serverAt(w.TempDir())
}

// serverAt is one that starts with the folders that another has left.
func (w *world) serverAt(root string) *server {
	w.Helper()
	b := must.Get(objects.Open(w.s3.Config()))(w)
	w.Cleanup(b.Close)
	s := &server{T: w.T, w: w, dirs: files.Dirs{Root: root}, objects: &counted{Objects: b}}
	s.at = filepath.Join(root, "threads", "t", "user-data")
	s.Trees = filestore.New(filestore.Config{DB: w.db, Objects: s.objects, Dirs: s.dirs, Cache: 1,
		Log: slog.New(slog.DiscardHandler)})
	s.dirs.Keeper = s.Trees
	return s
}

// write makes files of pairs of names and contents.
func (s *server) write(parts ...string) {
	s.Helper()
	must.Do(s, s.dirs.Create("t"))
	for i := 0; i+1 < len(parts); i += 2 {
		at := filepath.Join(s.at, parts[i])
		must.Do(s, os.MkdirAll(filepath.Dir(at), 0o755))
		must.Do(s, os.WriteFile(at, []byte(parts[i+1]), 0o644))
	}
}

func (s *server) remove(names ...string) {
	s.Helper()
	for _, name := range names {
		must.Do(s, os.RemoveAll(filepath.Join(s.at, name)))
	}
}

func (s *server) save() int64 {
	s.Helper()
	v := must.Get(s.SaveVersion(s.Context(), "t"))(s)
	return v
}

// sees is what the server shows of a thread: each name with what it is.
func (s *server) sees(thread string) map[string]string {
	s.Helper()
	release := must.Get(s.Hold(thread))(s)
	defer release()
	return s.disk(thread)
}

func (s *server) disk(thread string) map[string]string {
	s.Helper()
	all := map[string]string{}
	base := filepath.Join(s.dirs.Root, "threads", thread, "user-data")
	err := filepath.WalkDir(base, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(base, at)
		if !strings.Contains(name, "/") {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			all[name] = info.Mode().String()
		case d.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(at)
			all[name] = "-> " + target
			return err
		case d.Type().IsRegular():
			data, err := os.ReadFile(at)
			all[name] = fmt.Sprintf("%s %d %x", info.Mode(), len(data), sha256.Sum256(data))
			return err
		}
		return nil
	})
	if !errors.Is(err, fs.ErrNotExist) {
		must.Do(s, err)
	}
	return all
}

func (s *server) shows(want map[string]string) {
	s.Helper()
	s.same(s.sees("t"), want)
}

func (s *server) same(got, want map[string]string) {
	s.Helper()
	if maps.Equal(got, want) {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if got[name] != want[name] {
			s.Errorf("%q is %q, want %q", name, got[name], want[name])
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			s.Errorf("%q is there: %s", name, got[name])
		}
	}
}

func (s *server) text(name, want string) {
	s.Helper()
	data, err := os.ReadFile(filepath.Join(s.at, name))
	if err != nil || string(data) != want {
		s.Errorf("%s: %q, want %q: %v", name, data, want, err)
	}
}

func (s *server) gone(name string) {
	s.Helper()
	if _, err := os.Lstat(filepath.Join(s.at, name)); !errors.Is(err, fs.ErrNotExist) {
		s.Errorf("%s is there", name)
	}
}

// all makes every kind of file.
func (s *server) all() {
	s.Helper()
	s.write("workspace/a.txt", "a", "workspace/empty", "", "outputs/report.md", "# report", "uploads/u.csv", "1,2",
		"workspace/deep/er/same.txt", "a", "workspace/large.bin", strings.Repeat("0123456789", 100_000),
		"workspace/twin.bin", strings.Repeat("0123456789", 100_000), "workspace/größe\xff.txt", "odd",
		"workspace/run.sh", "#!/bin/sh")
	must.Do(s, os.Chmod(filepath.Join(s.at, "workspace/run.sh"), 0o755))
	must.Do(s, os.MkdirAll(filepath.Join(s.at, "workspace/closed/in"), 0o755))
	s.write("workspace/closed/in/x", "x")
	must.Do(s, os.Chmod(filepath.Join(s.at, "workspace/closed/in"), 0o555))
	must.Do(s, os.MkdirAll(filepath.Join(s.at, "workspace/nothing"), 0o700))
	must.Do(s, os.Symlink("/etc/passwd", filepath.Join(s.at, "workspace/out")))
	must.Do(s, os.Symlink("a.txt", filepath.Join(s.at, "workspace/in")))
	must.Do(s, syscall.Mkfifo(filepath.Join(s.at, "workspace/pipe"), 0o600))
}

func TestAnotherServerHasTheSameFiles(t *testing.T) {
	w := newWorld(t)
	a, b := w.server(), w.server()
	a.all()
	first := a.save()
	want := a.disk("t")
	if len(want) != 17 || a.objects.puts != 2 {
		t.Errorf("%d names in %d objects", len(want), a.objects.puts)
	}
	b.shows(want)
	info, err := os.Stat(filepath.Join(b.at, "workspace/a.txt"))
	must.Do(b, err)
	old, err := os.Stat(filepath.Join(a.at, "workspace/a.txt"))
	must.Do(a, err)
	if !info.ModTime().Equal(old.ModTime()) {
		t.Errorf("changed %s, want %s", info.ModTime(), old.ModTime())
	}
	if v := b.save(); v != first || b.objects.puts != 0 {
		t.Errorf("nothing changed: version %d after %d, %d objects", v, first, b.objects.puts)
	}

	// Turns: b changes what a wrote, and a what b wrote.
	must.Do(b, os.Chmod(filepath.Join(b.at, "workspace/closed/in"), 0o755))
	b.write("workspace/a.txt", "b", "workspace/closed/in/y", "y", "workspace/large.bin", "small now")
	must.Do(b, os.Chmod(filepath.Join(b.at, "workspace/closed/in"), 0o555))
	b.remove("workspace/deep", "workspace/out", "workspace/empty")
	b.write("workspace/empty/is/a/folder", "now")
	second := b.save()
	a.shows(b.disk("t"))
	a.write("workspace/a.txt", "a again")
	a.remove("workspace/empty")
	a.write("workspace/empty", "a file again")
	if third := a.save(); first >= second || second >= third {
		t.Errorf("versions %d, %d, %d", first, second, third)
	}
	b.shows(a.disk("t"))
	w.server().shows(a.disk("t"))
}

func TestWhatIsUploadedElsewhereComesToARun(t *testing.T) {
	w := newWorld(t)
	a, b := w.server(), w.server()
	a.write("workspace/a.txt", "1", "workspace/b.txt", "1", "workspace/c.txt", "1")
	a.save()
	must.Do(a, a.Begin(t.Context(), "t", "run"))
	a.write("workspace/a.txt", "by the run", "workspace/new.txt", "by the run")
	a.remove("workspace/c.txt")
	b.sees("t")
	b.write("uploads/u.txt", "by a person", "workspace/a.txt", "by a person", "workspace/b.txt", "by a person")
	b.save()
	a.sees("t")
	a.text("uploads/u.txt", "by a person")
	a.text("workspace/b.txt", "by a person")
	a.text("workspace/a.txt", "by the run")
	a.save()
	b.sees("t")
	b.text("workspace/a.txt", "by the run")
	b.text("workspace/new.txt", "by the run")
	b.text("uploads/u.txt", "by a person")
	b.gone("workspace/c.txt")
}

func TestWhatWasLeftIsDroppedOnceOthersWentOn(t *testing.T) {
	w := newWorld(t)
	a, b := w.server(), w.server()
	a.write("workspace/a.txt", "1", "workspace/b.txt", "1")
	a.save()
	must.Do(a, a.Begin(t.Context(), "t", "run"))
	a.write("workspace/a.txt", "half of a step", "workspace/half.txt", "x") // and the server is killed
	must.Do(b, b.Begin(t.Context(), "t", "run"))
	b.text("workspace/a.txt", "1")
	b.gone("workspace/half.txt")
	a = w.serverAt(a.dirs.Root)
	a.sees("t")
	a.text("workspace/a.txt", "half of a step") // as nobody went on
	b.write("workspace/b.txt", "2")
	b.save()
	a = w.serverAt(a.dirs.Root)
	must.Do(a, a.Begin(t.Context(), "t", "next"))
	a.shows(b.disk("t"))
}

func TestEarlierVersionsComeBack(t *testing.T) {
	w := newWorld(t)
	a, b := w.server(), w.server()
	a.write("workspace/a.txt", "1", "outputs/gone.txt", "1")
	first := a.save()
	one := a.disk("t")
	a.write("workspace/a.txt", "2", "uploads/u.txt", "later")
	a.remove("outputs/gone.txt")
	a.save()
	puts := a.objects.puts
	must.Do(a, a.CopyVersion(t.Context(), "t", first, "branch"))
	b.same(b.sees("branch"), one)
	must.Do(a, a.dirs.Copy(t.Context(), "t", "copy"))
	b.same(b.sees("copy"), a.disk("t"))
	must.Do(b, b.Restore(t.Context(), "t", first))
	one["uploads/u.txt"] = a.disk("t")["uploads/u.txt"]
	a.shows(one)
	b.shows(one)
	if a.objects.puts != puts || b.objects.puts != 0 {
		t.Error("contents were stored again")
	}
	// What a branch has does not go with the thread it came from.
	must.Do(a, a.dirs.Remove("t"))
	must.Do(a, a.Sweep(t.Context(), time.Now().Add(time.Hour)))
	delete(one, "uploads/u.txt")
	c := w.server()
	c.same(c.sees("branch"), one)
	c.shows(map[string]string{})
}

// TestARunThatIsTakenBackLeavesNothing, stored or not, at either server, but for what people uploaded.
func TestARunThatIsTakenBackLeavesNothing(t *testing.T) {
	w := newWorld(t)
	a, b := w.server(), w.server()
	a.write("workspace/a.txt", "1")
	first := a.save()
	must.Do(b, b.Begin(t.Context(), "t", "run"))
	b.write("workspace/a.txt", "2", "workspace/half.txt", "b was killed")
	must.Do(a, a.Begin(t.Context(), "t", "run"))
	a.write("workspace/a.txt", "3", "workspace/new.txt", "x")
	a.save()
	a.write("workspace/a.txt", "4", "workspace/half.txt", "not stored", "uploads/u.txt", "on its way")
	release, err := a.Hold("t") // a page shows a file
	must.Do(a, err)
	must.Do(a, a.Undo(t.Context(), "t", "run", first))
	a.sees("t")
	release()
	a.text("workspace/a.txt", "1")
	a.gone("workspace/half.txt")
	a.gone("workspace/new.txt")
	a.text("uploads/u.txt", "on its way")
	a.save()
	must.Do(b, b.Undo(t.Context(), "t", "run", store.NoTree))
	want := map[string]string{}
	for name, is := range a.disk("t") {
		if strings.HasPrefix(name, "uploads") {
			want[name] = is
		}
	}
	a.shows(want)
	b.shows(want)
}

func TestAStoreThatIsDownLosesNothing(t *testing.T) {
	w := newWorld(t)
	a, b := w.server(), w.server()
	a.write("workspace/a.txt", "1")
	first := a.save()
	w.s3.Stop()
	if v := a.save(); v != first {
		t.Error("saving nothing made a version")
	}
	a.shows(a.disk("t"))
	a.write("workspace/b.txt", "2")
	if _, err := a.SaveVersion(t.Context(), "t"); !errors.Is(err, filestore.ErrObjects) {
		t.Errorf("save: %v", err)
	}
	if _, err := b.Hold("t"); !errors.Is(err, filestore.ErrObjects) {
		t.Errorf("hold: %v", err)
	}
	w.s3.Again()
	a.save()
	b.shows(a.disk("t"))
}

func TestACrashAfterAnyUploadLosesNothing(t *testing.T) {
	w := newWorld(t)
	for n := 1; ; n++ {
		for _, after := range []bool{false, true} {
			thread := fmt.Sprintf("t%d%t", n, after)
			a := w.server()
			a.at = filepath.Join(a.dirs.Root, "threads", thread, "user-data")
			must.Do(a, a.dirs.Create(thread))
			for i := range 3 {
				large := bytes.Repeat([]byte{byte(n), byte(i)}, 200_000)
				must.Do(a, os.WriteFile(filepath.Join(a.at, fmt.Sprintf("workspace/%d.bin", i)), large, 0o644))
				name := fmt.Sprintf("outputs/%d%d%t", n, i, after)
				must.Do(a, os.WriteFile(filepath.Join(a.at, name), large[:100], 0o644))
			}
			want := a.disk(thread)
			a.objects.fail, a.objects.after = n, after
			err := a.Save(t.Context(), thread)
			if err == nil {
				if n <= 4 {
					t.Fatalf("put %d did not fail", n)
				}
				return
			}
			if !errors.Is(err, errCut) {
				t.Fatal(err)
			}
			other := w.server()
			other.same(other.sees(thread), map[string]string{}) // nobody was told of any
			a = w.serverAt(a.dirs.Root)
			a.same(a.sees(thread), want)
			must.Do(a, a.Save(t.Context(), thread))
			must.Do(a, a.Sweep(t.Context(), time.Now().Add(time.Hour)))
			other.same(other.sees(thread), want)
			must.Do(a, a.dirs.Remove(thread))
			must.Do(a, a.Sweep(t.Context(), time.Now().Add(time.Hour)))
			if left := w.s3.Objects(); left != 0 {
				t.Errorf("put %d: %d objects are left", n, left)
			}
		}
	}
}

func TestCopiesGoAndComeBack(t *testing.T) {
	w := newWorld(t)
	a := w.server()
	a.all()
	a.save()
	want := a.disk("t")
	later := time.Now().Add(time.Hour)
	release, err := a.Hold("t")
	must.Do(a, err)
	must.Do(a, a.Trim(t.Context(), later))
	a.same(a.disk("t"), want) // in use
	release()
	must.Do(a, a.Trim(t.Context(), time.Now().Add(-time.Hour)))
	a.same(a.disk("t"), want) // used lately
	a.write("workspace/new.txt", "not stored")
	must.Do(a, a.Trim(t.Context(), later))
	a.text("workspace/new.txt", "not stored")
	a.save()
	want = a.disk("t")
	must.Do(a, a.Trim(t.Context(), later))
	a.same(a.disk("t"), map[string]string{})
	a.shows(want)
	a = w.serverAt(a.dirs.Root)
	a.shows(want)
}

func TestAWrongContentIsNotShown(t *testing.T) {
	w := newWorld(t)
	a, b := w.server(), w.server()
	a.write("workspace/a.txt", "right")
	a.save()
	b.objects.Objects = wrong{b.objects.Objects}
	if _, err := b.Hold("t"); !errors.Is(err, filestore.ErrObjects) {
		t.Errorf("%v", err)
	}
	b.gone("workspace/a.txt")
}

type wrong struct{ filestore.Objects }

func (wrong) Get(context.Context, string, int64, int64) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader("wrong")), nil
}

func TestManyVersionsAreReadInFewRows(t *testing.T) {
	w := newWorld(t)
	a := w.server()
	for i := range 60 {
		a.write(fmt.Sprintf("workspace/%d.txt", i), fmt.Sprint(i))
		a.save()
	}
	list, err := w.db.Trees(t.Context(), "t", a.save())
	must.Do(a, err)
	if len(list) > 40 || !list[0].Whole {
		t.Errorf("%d rows", len(list))
	}
	w.server().shows(a.disk("t"))
}
