package files_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/sandbox/files"
)

// inProject are folders whose threads are in the project p, for which write says whether they may change its files.
func inProject(t *testing.T, write *bool) files.Dirs {
	dirs := files.Dirs{Root: t.TempDir()}
	dirs.Shelf = func(thread string) (files.Shelf, error) {
		if thread == "alone" {
			return files.Shelf{}, nil
		}
		return files.Shelf{ID: "project.p", Write: *write}, nil
	}
	return dirs
}

func TestAThreadSeesTheFilesOfItsProject(t *testing.T) {
	write := false
	dirs := inProject(t, &write)
	shelf := func() *files.Files {
		t.Helper()
		must.Do(t, dirs.Create("project.p"))
		f := must.Get(dirs.Open("project.p"))(t)
		t.Cleanup(func() { f.Close() })
		return f
	}()
	put(t, shelf, files.Uploads+"/plan.md", "the plan")
	f, _ := openIn(t, dirs)
	if got := text(t, f, files.Project+"/plan.md"); got != "the plan" {
		t.Errorf("got %q", got)
	}
	if names, _, err := f.ReadDir(files.Project); err != nil || len(names) != 1 || names[0].Name() != "plan.md" {
		t.Errorf("%v, %v", names, err)
	}
	refused := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, files.ErrReadOnly) || !strings.Contains(err.Error(), files.Project) {
			t.Errorf("%s: %v", what, err)
		}
	}
	refused("write", f.WriteFile(t.Context(), files.Project+"/plan.md", []byte("x"), false))
	refused("remove", f.Remove(files.Project+"/plan.md"))
	refused("make a folder", f.Mkdir(files.Project+"/more"))
	refused("move away", f.Rename(files.Project+"/plan.md", files.Outputs+"/plan.md"))
	if err := f.WriteFile(t.Context(), "../project/../project/x", []byte("x"), false); !errors.Is(err, files.ErrReadOnly) {
		t.Errorf("by a roundabout way: %v", err)
	}

	write = true
	f, own := openIn(t, dirs)
	put(t, f, files.Project+"/notes/a.md", "a")
	if got := text(t, shelf, files.Uploads+"/notes/a.md"); got != "a" {
		t.Errorf("got %q", got)
	}
	must.Report(t, f.Rename(files.Project+"/plan.md", files.Project+"/notes/plan.md"))
	if err := f.Rename(files.Project+"/notes/plan.md", files.Outputs+"/plan.md"); !errors.Is(err, files.ErrPath) {
		t.Errorf("move out of it: %v", err)
	}
	if err := f.Remove(files.Project); !errors.Is(err, files.ErrPath) {
		t.Errorf("remove all of it: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(own, "project")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something is in the thread's own folder: %v", err)
	}
}

func TestLinksLeadOutOfNoProject(t *testing.T) {
	write := true
	dirs := inProject(t, &write)
	f, _ := openIn(t, dirs)
	put(t, f, files.Project+"/a.md", "a")
	base, _ := must.Get2(dirs.ProjectFolder(thread))(t)
	for name, to := range map[string]string{"up": "..", "host": "/etc/passwd", "outputs": "../outputs"} {
		must.Do(t, os.Symlink(to, filepath.Join(base, name)))
		if _, err := f.ReadFile(t.Context(), files.Project+"/"+name, 10); err == nil {
			t.Errorf("%s leads out", name)
		}
	}
}

func TestAThreadOfNoProjectSeesNoFiles(t *testing.T) {
	write := true
	dirs := inProject(t, &write)
	must.Do(t, dirs.Create("alone"))
	f := must.Get(dirs.Open("alone"))(t)
	defer f.Close()
	if err := f.WriteFile(t.Context(), files.Project+"/a", nil, false); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("write: %v", err)
	}
	if _, err := f.Stat(files.Project); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("stat: %v", err)
	}
	if dir, _, err := dirs.ProjectFolder("alone"); dir != "" || err != nil {
		t.Errorf("%q, %v", dir, err)
	}
}

func TestShelvesAreNoThreads(t *testing.T) {
	write := true
	dirs := inProject(t, &write)
	f, _ := openIn(t, dirs)
	put(t, f, files.Project+"/a.md", "a")
	list := func(of func(func(string) error) error) (out []string) {
		must.Do(t, of(func(id string) error { out = append(out, id); return nil }))
		return out
	}
	if got := strings.Join(list(dirs.Threads), " "); got != thread {
		t.Errorf("threads: %s", got)
	}
	if got := strings.Join(list(dirs.Shelves), " "); got != "project.p" {
		t.Errorf("shelves: %s", got)
	}
	for _, id := range []string{"project.", "project...", "project.a/b", "other:p", "project.project.p"} {
		if _, err := dirs.Folder(id); !errors.Is(err, files.ErrThread) {
			t.Errorf("%s: %v", id, err)
		}
	}
	must.Do(t, dirs.Remove("project.p"))
	if got := list(dirs.Shelves); got != nil {
		t.Errorf("left: %v", got)
	}
}

func TestAProjectHasItsOwnQuota(t *testing.T) {
	write := true
	dirs := inProject(t, &write)
	dirs.Quota = files.NewQuota(1 << 20)
	f, _ := openIn(t, dirs)
	put(t, f, files.Workspace+"/full", strings.Repeat("x", 900<<10))
	put(t, f, files.Project+"/a", strings.Repeat("x", 500<<10))
	if err := f.WriteFile(t.Context(), files.Project+"/b", make([]byte, 900<<10), false); !errors.Is(err, files.ErrQuota) {
		t.Errorf("got %v", err)
	}
}

// TestNoFolderOfADeletedProjectIsMade, by whichever way: a thread that still believes in it is told that there is none.
func TestNoFolderOfADeletedProjectIsMade(t *testing.T) {
	write := true
	dirs := inProject(t, &write)
	there := true
	dirs.Shelved = func(shelf string) (bool, error) { return there, nil }
	f, _ := openIn(t, dirs)
	put(t, f, files.Project+"/plan.md", "the plan")
	there = false
	must.Do(t, dirs.Remove("project.p"))
	if err := f.WriteFile(t.Context(), files.Project+"/more.md", []byte("x"), false); err == nil {
		t.Error("a file was written to a folder that was removed")
	}
	late, _ := openIn(t, dirs)
	if err := late.WriteFile(t.Context(), files.Project+"/more.md", []byte("x"), false); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file of a deleted project: %v", err)
	}
	if err := dirs.Create("project.p"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder of a deleted project: %v", err)
	}
	if dir, _, err := dirs.ProjectFolder("a"); dir != "" || err != nil {
		t.Errorf("commands see %q, %v", dir, err)
	}
	if _, err := os.Stat(filepath.Join(dirs.Root, "projects", "p")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is there: %v", err)
	}
}
