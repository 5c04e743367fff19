package files_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/sandbox/files"
)

const thread = "t-1"

// open gives the files of a fresh thread and the folder that holds them.
func open(t *testing.T) (*files.Files, string) {
	t.Helper()
	dirs := files.Dirs{Root: t.TempDir()}
	return openIn(t, dirs)
}

func openIn(t *testing.T, dirs files.Dirs) (*files.Files, string) {
	t.Helper()
	must.Do(t, dirs.Create(thread))
	f := must.Get(dirs.Open(thread))(t)
	t.Cleanup(func() { f.Close() })
	return f, filepath.Join(dirs.Root, "threads", thread, "user-data")
}

func put(t *testing.T, f *files.Files, p, content string) {
	t.Helper()
	must.Do(t, f.WriteFile(t.Context(), p, []byte(content), false))
}

func text(t *testing.T, f *files.Files, p string) string {
	t.Helper()
	b := must.Get(f.ReadFile(t.Context(), p, 1<<20))(t)
	return string(b)
}

func TestCleanGivesOneNamePerFile(t *testing.T) {
	long := strings.Repeat("n", 255)
	for _, c := range []struct {
		name, in, want string
		err            error
	}{
		{"absolute", "/mnt/user-data/workspace/a.txt", "/mnt/user-data/workspace/a.txt", nil},
		{"relative starts at workspace", "a/b.txt", "/mnt/user-data/workspace/a/b.txt", nil},
		{"dot", ".", "/mnt/user-data/workspace", nil},
		{"dots inside user-data", "../outputs/x", "/mnt/user-data/outputs/x", nil},
		{"absolute dots inside user-data", "/mnt/user-data/uploads/../../user-data/outputs/x", "/mnt/user-data/outputs/x", nil},
		{"slashes", "/mnt//user-data/outputs//x/", "/mnt/user-data/outputs/x", nil},
		{"spaces and other scripts", "报告 2.txt", "/mnt/user-data/workspace/报告 2.txt", nil},
		{"skills", "/mnt/skills/public/a/SKILL.md", "/mnt/skills/public/a/SKILL.md", nil},
		{"name of 255 bytes", long, "/mnt/user-data/workspace/" + long, nil},
		{"empty", "", "", files.ErrPath},
		{"root itself", "/mnt/user-data", "", files.ErrPath},
		{"root by dots", "..", "", files.ErrPath},
		{"unknown folder", "/mnt/user-data/other/x", "", files.ErrPath},
		{"sibling with the same prefix", "/mnt/user-data-evil/x", "", files.ErrPath},
		{"folder with the same prefix", "/mnt/user-data/workspace-evil/x", "", files.ErrPath},
		{"host path", "/etc/passwd", "", files.ErrPath},
		{"climbs out", "../../../etc/passwd", "", files.ErrEscape},
		{"climbs out of the absolute form", "/mnt/user-data/workspace/../../../etc/passwd", "", files.ErrEscape},
		{"to a neighbour of the root", "/mnt/user-data/../x", "", files.ErrEscape},
		{"NUL", "a\x00b", "", files.ErrPath},
		{"not UTF-8", "a\xff", "", files.ErrPath},
		{"name of 256 bytes", long + "n", "", files.ErrPath},
		{"4097 bytes", strings.Repeat("a/", 2048) + "b", "", files.ErrPath},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := files.Clean(c.in)
			if got != c.want || !errors.Is(err, c.err) {
				t.Fatalf("Clean(%q) = %q, %v; want %q, %v", c.in, got, err, c.want, c.err)
			}
		})
	}
}

func FuzzCleanNeverLeaves(f *testing.F) {
	for _, s := range []string{"a", "../x", "/mnt/user-data/outputs/../../..", "/mnt/skills/..", "//", "a/./../..//b",
		"/mnt/user-data/workspace/\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		got, err := files.Clean(in)
		if err != nil {
			if got != "" || !errors.Is(err, files.ErrPath) && !errors.Is(err, files.ErrEscape) {
				t.Fatalf("Clean(%q) = %q, %v", in, got, err)
			}
			return
		}
		ok := false
		for _, root := range []string{files.Workspace, files.Uploads, files.Outputs, files.Skills} {
			ok = ok || got == root || strings.HasPrefix(got, root+"/")
		}
		again, err := files.Clean(got)
		if !ok || again != got || err != nil || strings.Contains(got+"/", "/../") {
			t.Fatalf("Clean(%q) = %q, then %q, %v", in, got, again, err)
		}
	})
}

func TestThreadIDsAreChecked(t *testing.T) {
	dirs := files.Dirs{Root: t.TempDir()}
	for _, id := range []string{"", ".", "..", "a/b", "a b", "ä", "a\x00", strings.Repeat("a", 65)} {
		if err := dirs.Create(id); !errors.Is(err, files.ErrThread) {
			t.Errorf("Create(%q) = %v", id, err)
		}
		if err := dirs.Remove(id); !errors.Is(err, files.ErrThread) {
			t.Errorf("Remove(%q) = %v", id, err)
		}
		if _, err := dirs.Open(id); !errors.Is(err, files.ErrThread) {
			t.Errorf("Open(%q) = %v", id, err)
		}
	}
	_, err := dirs.Open("never-created")
	if !errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), dirs.Root) {
		t.Errorf("Open of a thread without folders = %v", err)
	}
}

func TestFoldersArePrivateAndCreatedOnce(t *testing.T) {
	dirs := files.Dirs{Root: t.TempDir()}
	f, base := openIn(t, dirs)
	put(t, f, "keep.txt", "kept")
	must.Do(t, dirs.Create(thread))
	if got := text(t, f, "keep.txt"); got != "kept" {
		t.Fatalf("second Create changed a file: %q", got)
	}
	for _, name := range []string{"workspace", "uploads", "outputs"} {
		info, err := os.Stat(filepath.Join(base, name))
		if err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v %v", name, info, err)
		}
	}
}

func TestWriteThenReadBack(t *testing.T) {
	f, base := open(t)
	put(t, f, "new/deep/ünï\n \u202e.txt", "one")
	must.Do(t, f.WriteFile(t.Context(), "new/deep/ünï\n \u202e.txt", []byte("+two"), true))
	if got := text(t, f, "/mnt/user-data/workspace/new/deep/ünï\n \u202e.txt"); got != "one+two" {
		t.Fatalf("got %q", got)
	}
	must.Do(t, os.Chmod(filepath.Join(base, "workspace/new"), 0o755))
	left, err := os.ReadDir(filepath.Join(base, "workspace/new/deep"))
	if err != nil || len(left) != 1 {
		t.Fatalf("temporary files stay: %v %v", left, err)
	}
}

func TestReplacingKeepsPermissions(t *testing.T) {
	f, base := open(t)
	put(t, f, "run.sh", "#!/bin/sh\n")
	host := filepath.Join(base, "workspace/run.sh")
	if info, _ := os.Stat(host); info.Mode().Perm() != 0o644 {
		t.Fatalf("new file has %v", info.Mode())
	}
	must.Do(t, os.Chmod(host, 0o755))
	put(t, f, "run.sh", "#!/bin/bash\n")
	if info, _ := os.Stat(host); info.Mode().Perm() != 0o755 {
		t.Fatalf("replaced file has %v", info.Mode())
	}
}

func TestCancelledWriteLeavesTheOldContent(t *testing.T) {
	f, base := open(t)
	put(t, f, "a.txt", "old")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.WriteFile(ctx, "a.txt", []byte("new"), false); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if got := text(t, f, "a.txt"); got != "old" {
		t.Fatalf("content is %q", got)
	}
	if left, _ := os.ReadDir(filepath.Join(base, "workspace")); len(left) != 1 {
		t.Fatalf("temporary files stay: %v", left)
	}
}

func TestReadFileStopsAtTheLimit(t *testing.T) {
	f, _ := open(t)
	put(t, f, "a.bin", strings.Repeat("x", 1000))
	for _, c := range []struct {
		limit int64
		want  int
		err   error
	}{{2000, 1000, nil}, {1000, 1000, nil}, {999, 999, files.ErrTooLarge}, {0, 0, files.ErrTooLarge}} {
		b, err := f.ReadFile(t.Context(), "a.bin", c.limit)
		if len(b) != c.want || !errors.Is(err, c.err) {
			t.Errorf("limit %d: %d bytes, %v", c.limit, len(b), err)
		}
	}
	put(t, f, "empty", "")
	if b, err := f.ReadFile(t.Context(), "empty", 0); len(b) != 0 || err != nil {
		t.Errorf("empty file: %q %v", b, err)
	}
}

func TestErrorsNameVirtualPathsOnly(t *testing.T) {
	f, base := open(t)
	put(t, f, "file", "x")
	_, missing := f.ReadFile(t.Context(), "nope.txt", 10)
	_, _, dir := f.Open("/mnt/user-data/outputs")
	_, below := f.Stat("file/below")
	create := f.WriteFile(t.Context(), "file/below", nil, false)
	for name, err := range map[string]error{
		"missing": missing, "directory": dir, "below a file": below, "write below a file": create,
		"remove": f.Remove("nope"), "rename": f.Rename("nope", "b"),
		"rename root": f.Rename("/mnt/user-data/outputs", "b"), "remove root": f.Remove("/mnt/user-data/outputs"),
		"mkdir":                f.Mkdir("file/x"),
		"write to a directory": f.WriteFile(t.Context(), "/mnt/user-data/outputs", nil, true),
	} {
		if err == nil || strings.Contains(err.Error(), base) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !errors.Is(missing, fs.ErrNotExist) || !errors.Is(dir, files.ErrNotRegular) {
		t.Errorf("missing = %v, directory = %v", missing, dir)
	}
}

func TestCreateIsExclusive(t *testing.T) {
	f, base := open(t)
	w := must.Get(f.Create("/mnt/user-data/uploads/a"))(t)
	w.Close()
	if _, err := f.Create("/mnt/user-data/uploads/a"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("second Create = %v", err)
	}
	if err := os.Symlink("../workspace/new", filepath.Join(base, "uploads/link")); err != nil {
		t.Skip(err)
	}
	if _, err := f.Create("/mnt/user-data/uploads/link"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Create through a link = %v", err)
	}
}

func TestRenameReplacesTheLinkNotItsTarget(t *testing.T) {
	f, base := open(t)
	put(t, f, "target", "safe")
	put(t, f, "new", "new")
	if err := os.Symlink("target", filepath.Join(base, "workspace/link")); err != nil {
		t.Skip(err)
	}
	must.Do(t, f.Rename("new", "link"))
	if text(t, f, "target") != "safe" || text(t, f, "link") != "new" {
		t.Fatal("the target of the link changed")
	}
}

func TestMountsAreReadOnly(t *testing.T) {
	skills := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(skills, "SKILL.md"), []byte("how"), 0o600))
	f, base := openIn(t,
		files.Dirs{Root: t.TempDir(), Mounts: []files.Mount{{Path: "/mnt/skills/public", Dir: skills}}})
	if got := text(t, f, "/mnt/skills/public/SKILL.md"); got != "how" {
		t.Fatalf("got %q", got)
	}
	for name, err := range map[string]error{
		"write":  f.WriteFile(t.Context(), "/mnt/skills/public/SKILL.md", nil, false),
		"mkdir":  f.Mkdir("/mnt/skills/public/x"),
		"remove": f.Remove("/mnt/skills/public/SKILL.md"),
		"rename": f.Rename("/mnt/skills/public/SKILL.md", "x"),
	} {
		if !errors.Is(err, files.ErrReadOnly) {
			t.Errorf("%s = %v", name, err)
		}
	}
	if err := os.Symlink("/mnt/skills/public/SKILL.md", filepath.Join(base, "workspace/skill")); err != nil {
		t.Skip(err)
	}
	if got := text(t, f, "skill"); got != "how" {
		t.Fatalf("through a link: %q", got)
	}
	if err := f.WriteFile(t.Context(), "skill", nil, false); !errors.Is(err, files.ErrReadOnly) {
		t.Errorf("write through a link = %v", err)
	}
	if _, err := f.Stat("/mnt/skills/custom/x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no such mount = %v", err)
	}
}

func TestMountsElsewhereAreRefused(t *testing.T) {
	dirs := files.Dirs{Root: t.TempDir(), Mounts: []files.Mount{{Path: "/mnt/user-data/workspace", Dir: t.TempDir()}}}
	must.Do(t, dirs.Create(thread))
	if f, err := dirs.Open(thread); err == nil {
		f.Close()
		t.Fatal("a mount took the place of the workspace")
	}
}

func TestThreadsNamesThoseWithFolders(t *testing.T) {
	dirs := files.Dirs{Root: t.TempDir()}
	none := func(string) error { return errors.New("none is there") }
	must.Do(t, dirs.Threads(none))
	for _, id := range []string{"a", "b", "c"} {
		must.Do(t, dirs.Create(id))
	}
	must.Do(t, errors.Join(dirs.Remove("b"),
		os.Mkdir(filepath.Join(dirs.Root, "threads", "not an id"), 0o700)))
	var ids []string
	err := dirs.Threads(func(id string) error { ids = append(ids, id); return nil })
	slices.Sort(ids)
	if err != nil || !slices.Equal(ids, []string{"a", "c"}) {
		t.Fatalf("%q %v", ids, err)
	}
}

func TestReadDirShowsLinksAndStopsAtTheLimit(t *testing.T) {
	f, base := openIn(t, files.Dirs{Root: t.TempDir(), Limits: files.SearchLimits{Entries: 3}})
	put(t, f, "a", "12")
	put(t, f, ".git", "")
	if err := os.Symlink("a", filepath.Join(base, "workspace/l")); err != nil {
		t.Skip(err)
	}
	all, more, err := f.ReadDir(".")
	if err != nil || more || len(all) != 3 {
		t.Fatalf("%d names, more %v, %v", len(all), more, err)
	}
	for _, i := range all {
		if (i.Name() == "l") != (i.Mode().Type() == fs.ModeSymlink) ||
			(i.Name() == "a") != (i.Mode().IsRegular() && i.Size() == 2) {
			t.Errorf("%s is %v with %d bytes", i.Name(), i.Mode(), i.Size())
		}
	}
	put(t, f, "d", "")
	if all, more, err := f.ReadDir("."); err != nil || !more || len(all) != 3 {
		t.Fatalf("over the limit: %d names, more %v, %v", len(all), more, err)
	}
}

func TestCloseEndsFilesAndKeepsOpenedOnes(t *testing.T) {
	f, _ := open(t)
	put(t, f, "a", "content")
	file, _ := must.Get2(f.Open("a"))(t)
	defer file.Close()
	must.Do(t, errors.Join(f.Close(), f.Close()))
	if _, err := f.Stat("a"); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Stat after Close = %v", err)
	}
	var b bytes.Buffer
	if _, err := b.ReadFrom(file); err != nil || b.String() != "content" {
		t.Errorf("file opened before: %q %v", b.String(), err)
	}
}
