package providers_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fawn/sandbox"
	"fawn/sandbox/files"
)

// shelved puts threads that begin with "in" into a project, whose files those with "in-w" may change.
func shelved(cfg *sandbox.Config) {
	cfg.Dirs.Shelf = func(thread string) (files.Shelf, error) {
		if !strings.HasPrefix(thread, "in") {
			return files.Shelf{}, nil
		}
		return files.Shelf{ID: "project.p", Write: strings.HasPrefix(thread, "in-w")}, nil
	}
}

// projectFiles has commands use the files of a project.
func projectFiles(t *testing.T, w *world) {
	t.Helper()
	f := shelf(t, w)
	if err := f.WriteFile(t.Context(), files.Uploads+"/plan.md", []byte("the plan\n"), false); err != nil {
		t.Fatal(err)
	}
	reader := w.thread("in-r")
	res := bash(t, reader, `cat /mnt/user-data/project/plan.md; echo x > /mnt/user-data/project/plan.md
		rm /mnt/user-data/project/plan.md; touch /mnt/user-data/project/new; mv /mnt/user-data/project/plan.md /mnt/user-data/outputs/
		ls /mnt/user-data/project`)
	if out := string(res.Output); !strings.HasPrefix(out, "the plan\n") || !strings.Contains(out, "plan.md\n") ||
		strings.Count(out, "new") > 1 {
		t.Errorf("a reader: %s", out)
	}
	names(t, w, "plan.md")
	writer := w.thread("in-w")
	res = bash(t, writer, `echo more >> /mnt/user-data/project/plan.md && mkdir /mnt/user-data/project/sub &&
		echo b > /mnt/user-data/project/sub/b && cat /mnt/user-data/project/plan.md`)
	if out := string(res.Output); out != "the plan\nmore\n" {
		t.Errorf("a writer: %s", out)
	}
	names(t, w, "plan.md", "sub")
	if res := bash(t, w.thread("in-w2"), `cat /mnt/user-data/project/sub/b`); string(res.Output) != "b\n" {
		t.Errorf("another thread of it: %s", res.Output)
	}
	if res := bash(t, w.thread("out"), `cat /mnt/user-data/project/plan.md`); res.ExitCode == 0 {
		t.Errorf("a thread of no project. %s", res.Output)
	}
}

func shelf(t *testing.T, w *world) *files.Files {
	t.Helper()
	if err := w.cfg.Dirs.Create("project.p"); err != nil {
		t.Fatal(err)
	}
	f, err := w.cfg.Dirs.Open("project.p")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func names(t *testing.T, w *world, want ...string) {
	t.Helper()
	list, err := os.ReadDir(filepath.Join(w.cfg.Dirs.Root, "projects", "p", "user-data", "uploads"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range list {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("the project has %v, want %v", got, want)
	}
}

func TestCommandsSeeTheFilesOfTheirProject(t *testing.T) { projectFiles(t, newWorld(t, shelved)) }

func TestPlainCommandsSeeTheFilesOfTheirProject(t *testing.T) {
	projectFiles(t, newPlainWorld(t, shelved))
}

func TestASandboxThatIsMovedIntoAProjectSeesItsFiles(t *testing.T) {
	in := false
	w := newWorld(t, func(cfg *sandbox.Config) {
		cfg.Dirs.Shelf = func(string) (files.Shelf, error) {
			if !in {
				return files.Shelf{}, nil
			}
			return files.Shelf{ID: "project.p"}, nil
		}
	})
	if err := shelf(t, w).WriteFile(t.Context(), files.Uploads+"/a", []byte("a"), false); err != nil {
		t.Fatal(err)
	}
	if res := bash(t, w.thread("t"), `cat /mnt/user-data/project/a`); res.ExitCode == 0 {
		t.Errorf("before: %s", res.Output)
	}
	in = true
	if res := bash(t, w.thread("t"), `cat /mnt/user-data/project/a`); string(res.Output) != "a" {
		t.Errorf("after: %s", res.Output)
	}
}
