//go:build unix

package files_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/sandbox/files"
)

func link(t *testing.T, target, name string) {
	t.Helper()
	must.Do(t, os.Symlink(target, name))
}

func TestLinksThatLeaveAreRefused(t *testing.T) {
	f, base := open(t)
	secret := filepath.Join(t.TempDir(), "secret")
	must.Do(t, os.WriteFile(secret, []byte("secret"), 0o600))
	rel := must.Get(filepath.Rel(filepath.Join(base, "workspace"), secret))(t)
	ws := filepath.Join(base, "workspace")
	link(t, secret, filepath.Join(ws, "absolute"))
	link(t, rel, filepath.Join(ws, "relative"))
	link(t, filepath.Dir(secret), filepath.Join(ws, "folder"))
	link(t, "/proc/self/root"+secret, filepath.Join(ws, "proc"))
	link(t, "/proc/self/environ", filepath.Join(ws, "environ"))
	link(t, "loop-b", filepath.Join(ws, "loop-a"))
	link(t, "loop-a", filepath.Join(ws, "loop-b"))
	link(t, "/mnt/user-data/workspace/self/self", filepath.Join(ws, "self"))
	link(t, "/mnt/user-data/../../etc/passwd", filepath.Join(ws, "dressed"))
	link(t, "../../../../x", filepath.Join(ws, "above"))

	for _, name := range []string{
		"absolute", "relative", "folder/secret", "proc", "environ", "loop-a", "self", "self/x", "dressed", "above",
		"above/y",
	} {
		t.Run(name, func(t *testing.T) {
			b, err := f.ReadFile(t.Context(), name, 100)
			if !errors.Is(err, files.ErrEscape) || len(b) > 0 {
				t.Errorf("ReadFile = %q, %v", b, err)
			}
			if _, err := f.Stat(name); !errors.Is(err, files.ErrEscape) {
				t.Errorf("Stat = %v", err)
			}
			for _, add := range []bool{true, false} {
				if err := f.WriteFile(t.Context(), name, []byte("x"), add); !errors.Is(err, files.ErrEscape) {
					t.Errorf("WriteFile(add %v) = %v", add, err)
				}
			}
		})
	}
	if err := f.Walk(t.Context(), "folder", files.WalkOptions{},
		func(files.Entry) error { return nil }); !errors.Is(err, files.ErrEscape) {
		t.Errorf("Walk = %v", err)
	}
	if b, _ := os.ReadFile(secret); string(b) != "secret" {
		t.Errorf("the file outside changed: %q", b)
	}
}

func TestLinksInsideWorkAsInTheSandbox(t *testing.T) {
	f, base := open(t)
	put(t, f, "/mnt/user-data/outputs/dir/x", "x")
	ws := filepath.Join(base, "workspace")
	link(t, "/mnt/user-data/outputs/dir", filepath.Join(ws, "absolute"))
	link(t, "../outputs/dir", filepath.Join(ws, "relative"))
	link(t, "absolute/x", filepath.Join(ws, "twice"))
	link(t, "/mnt/user-data/outputs/new/file", filepath.Join(ws, "dangling"))
	for _, p := range []string{"absolute/x", "relative/x", "twice", "/mnt/user-data/workspace/absolute/x"} {
		if got := text(t, f, p); got != "x" {
			t.Errorf("%s: %q", p, got)
		}
	}
	put(t, f, "twice", "changed")
	put(t, f, "dangling", "made")
	if text(t, f, "/mnt/user-data/outputs/dir/x") != "changed" ||
		text(t, f, "/mnt/user-data/outputs/new/file") != "made" {
		t.Error("a write through a link did not reach its target")
	}
	if info, err := f.Lstat("absolute"); err != nil || info.Mode().Type() != fs.ModeSymlink {
		t.Errorf("Lstat = %v, %v", info, err)
	}
	l, err := f.List(t.Context(), "absolute", 1)
	if err != nil || len(l.Entries) != 1 || l.Entries[0].Path != "/mnt/user-data/workspace/absolute/x" {
		t.Errorf("List = %+v, %v", l, err)
	}
}

func TestPipesSocketsAndDevicesDoNotHang(t *testing.T) {
	f, base := open(t)
	ws := filepath.Join(base, "workspace")
	if err := syscall.Mkfifo(filepath.Join(ws, "pipe"), 0o600); err != nil {
		t.Skip(err)
	}
	t.Chdir(ws) // socket paths are short
	l := must.Get(net.Listen("unix", "socket"))(t)
	defer l.Close()
	put(t, f, "plain", "needle")
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, name := range []string{"pipe", "socket"} {
			if _, _, err := f.Open(name); !errors.Is(err, files.ErrNotRegular) {
				t.Errorf("Open(%s) = %v", name, err)
			}
			for _, add := range []bool{true, false} {
				if err := f.WriteFile(t.Context(), name, []byte("x"), add); !errors.Is(err, files.ErrNotRegular) {
					t.Errorf("WriteFile(%s, add %v) = %v", name, add, err)
				}
			}
			if err := f.Walk(t.Context(), name, files.WalkOptions{}, nil); !errors.Is(err, files.ErrNotDir) {
				t.Errorf("Walk(%s) = %v", name, err)
			}
		}
		r, err := f.Grep(t.Context(), files.GrepQuery{Pattern: "needle", Path: ".", Max: 10})
		if err != nil || len(r.Matches) != 1 {
			t.Errorf("Grep = %+v, %v", r, err)
		}
		if l, err := f.List(t.Context(), ".", 1); err != nil || len(l.Entries) != 1 {
			t.Errorf("List = %+v, %v", l, err)
		}
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("an operation waits for a pipe")
	}
}

func TestSparseFileIsReadOnlyUpToTheLimit(t *testing.T) {
	f, base := open(t)
	name := filepath.Join(base, "workspace/huge")
	put(t, f, "huge", "needle\n")
	if err := os.Truncate(name, 1<<40); err != nil {
		t.Skip(err)
	}
	b, err := f.ReadFile(t.Context(), "huge", 1<<20)
	if len(b) != 1<<20 || !errors.Is(err, files.ErrTooLarge) {
		t.Fatalf("%d bytes, %v", len(b), err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if b, err := f.ReadFile(ctx, "huge", 8<<30); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("cancelled read: %d bytes, %v", len(b), err)
	}
}

func TestDeepAndLockedTreesAreRemoved(t *testing.T) {
	dirs := files.Dirs{Root: t.TempDir()}
	f, base := openIn(t, dirs)
	put(t, f, "locked/in/x", "x")
	// Deeper than a path of 4096 bytes can name, as "mkdir a; cd a" makes it.
	root, err := os.OpenRoot(filepath.Join(base, "workspace"))
	if err != nil {
		t.Fatal(err)
	}
	for range 3000 {
		must.Do(t, root.Mkdir("deep", 0o700))
		next, err := root.OpenRoot("deep")
		root.Close()
		if err != nil {
			t.Fatal(err)
		}
		root = next
	}
	root.Close()
	if err := os.WriteFile(filepath.Join(base, "workspace", "bad\xffname"), nil, 0o600); err != nil {
		t.Log(err)
	}
	for _, p := range []string{"locked/in", "locked"} {
		must.Do(t, os.Chmod(filepath.Join(base, "workspace", p), 0))
	}
	var l files.Listing
	if l, err = f.List(t.Context(), ".", 0); err != nil || len(l.Entries) > 30 {
		t.Fatalf("List of a deep tree: %d entries, %v", len(l.Entries), err)
	}
	must.Do(t, dirs.Remove(thread))
	if _, err := os.Stat(filepath.Join(dirs.Root, "threads", thread)); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("still there: %v", err)
	}
	if err := dirs.Remove(thread); err != nil {
		t.Fatalf("removing again: %v", err)
	}
}

func TestRemoveDoesNotFollowLinks(t *testing.T) {
	dirs := files.Dirs{Root: t.TempDir()}
	_, base := openIn(t, dirs)
	outside := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(outside, "x"), nil, 0o600))
	link(t, outside, filepath.Join(base, "workspace/out"))
	must.Do(t, dirs.Remove(thread))
	must.Get(os.Stat(filepath.Join(outside, "x")))(t)
}

func TestOddNamesAreListedAndOpened(t *testing.T) {
	f, _ := open(t)
	names := []string{"line\nbreak", "right\u202eto-left", "with space", " lead", "报告.md", "-rf", "a*b",
		"quote\"'", "tab\t"}
	for _, n := range names {
		put(t, f, n, n)
	}
	l, err := f.List(t.Context(), ".", 1)
	if err != nil || len(l.Entries) != len(names) {
		t.Fatalf("%d of %d names, %v", len(l.Entries), len(names), err)
	}
	for _, e := range l.Entries {
		if got := text(t, f, e.Path); !strings.HasSuffix(e.Path, "/"+got) {
			t.Errorf("%q holds %q", e.Path, got)
		}
	}
}

func TestManyOpensLeaveNoDescriptors(t *testing.T) {
	const fds = "/proc/self/fd"
	count := func() int {
		names, err := os.ReadDir(fds)
		if err != nil {
			t.Skip(err)
		}
		return len(names)
	}
	dirs := files.Dirs{Root: t.TempDir()}
	must.Do(t, dirs.Create(thread))
	before := count()
	for i := range 200 {
		f := must.Get(dirs.Open(thread))(t)
		name := fmt.Sprintf("d%d/x", i%3)
		put(t, f, name, "needle")
		_ = text(t, f, name)
		must.Get(f.Grep(t.Context(), files.GrepQuery{Pattern: "needle", Path: ".", Max: 5}))(t)
		if _, _, err := f.Open("d0"); err == nil {
			t.Fatal("opened a folder")
		}
		must.Do(t, f.Close())
	}
	if after := count(); after > before+3 {
		t.Fatalf("%d open files before, %d after", before, after)
	}
}
