package clusterstate_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/agent/clusterstate"
	"fawn/store/pgtest"
)

// folder is one whose units are what is at its top, and the rows it is kept in.
func folder(t *testing.T, url string, files map[string]string) (*clusterstate.Folder, string) {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		lay(t, root, name, text)
	}
	return started(t, url, root), root
}

func started(t *testing.T, url, root string) *clusterstate.Folder {
	t.Helper()
	f := &clusterstate.Folder{Rows: rows(t, server(t, url, ""), oneKey), Name: "f", Root: func() string { return root },
		Log: slog.New(slog.DiscardHandler), Units: func() (list []string) {
			entries, err := os.ReadDir(root)
			if err != nil {
				t.Error(err)
			}
			for _, e := range entries {
				if !strings.HasPrefix(e.Name(), ".") {
					list = append(list, e.Name())
				}
			}
			return list
		}}
	must.Do(t, f.Start(t.Context()))
	return f
}

func lay(t *testing.T, root, name, text string) {
	t.Helper()
	at := filepath.Join(root, name)
	mode := fs.FileMode(0o600)
	if strings.HasSuffix(name, ".sh") {
		mode = 0o700
	}
	must.Do(t, errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, []byte(text), mode)))
}

// content is what lies below a folder, without what was put aside.
func content(t *testing.T, root string) map[string]string {
	t.Helper()
	out := map[string]string{}
	must.Do(t, filepath.WalkDir(root, func(at string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			if e.Name() == ".replaced" {
				return fs.SkipDir
			}
			return err
		}
		b, err := os.ReadFile(at)
		name, _ := filepath.Rel(root, at)
		out[filepath.ToSlash(name)] = string(b)
		return err
	}))
	return out
}

func pull(t *testing.T, f *clusterstate.Folder) {
	t.Helper()
	if err := errors.Join(f.Rows.Refresh(t.Context()), f.Pull()); err != nil {
		t.Fatal(err)
	}
}

func same(t *testing.T, what, a, b string) {
	t.Helper()
	x, y := content(t, a), content(t, b)
	if len(x) != len(y) {
		t.Errorf("%s: %d files here, %d there", what, len(x), len(y))
	}
	for name, text := range x {
		if y[name] != text {
			t.Errorf("%s: %s differs", what, name)
		}
	}
}

// TestAFolderIsTheSameOnAllServers: small and large files, programs, what is changed, moved and deleted.
func TestAFolderIsTheSameOnAllServers(t *testing.T) {
	url := pgtest.URL(t)
	large := string(bytes.Repeat([]byte("0123456789abcdef"), 200<<10)) // 3.2 MiB
	a, rootA := folder(t, url, map[string]string{"one/SKILL.md": "text", "one/scripts/run.sh": "#!/bin/sh\n",
		"one/assets/large.bin": large, "one/empty": "", "top.md": "top"})
	b, rootB := folder(t, url, nil)
	same(t, "brought by the first server", rootA, rootB)
	if info, err := os.Stat(filepath.Join(rootB, "one/scripts/run.sh")); err != nil || info.Mode()&0o100 == 0 {
		t.Errorf("a program cannot be run there: %v", err)
	}
	lay(t, rootB, "one/SKILL.md", "changed")
	lay(t, rootB, "two/new", large[1:])
	must.Do(t, errors.Join(os.Remove(filepath.Join(rootB, "one/assets/large.bin")), b.Push("one", "two")))
	pull(t, a)
	same(t, "changed by the second", rootA, rootB)
	if got := content(t, rootA); len(got) != 5 || got["one/SKILL.md"] != "changed" {
		t.Errorf("%d files", len(got))
	}
	must.Do(t, errors.Join(os.RemoveAll(filepath.Join(rootA, "two")), a.Push("two")))
	pull(t, b)
	same(t, "deleted by the first", rootA, rootB)
	lay(t, rootA, "two/again", "x")
	must.Do(t, a.Push("two"))
	pull(t, b)
	same(t, "made again", rootA, rootB)
}

// TestANewFolderIsThereWhenItIsWhole: nobody reads one that has only some of its files.
func TestANewFolderIsThereWhenItIsWhole(t *testing.T) {
	url := pgtest.URL(t)
	large := bytes.Repeat([]byte("0123456789abcdef"), 2<<10)
	a, rootA := folder(t, url, nil)
	b, rootB := folder(t, url, nil)
	lay(t, rootA, "one/SKILL.md", "text")
	lay(t, rootA, "one/more.bin", string(large))
	must.Do(t, a.Push("one"))
	sum := sha256.Sum256(large)
	db := server(t, url, "")
	if err := db.DropParts(t.Context(), hex.EncodeToString(sum[:])); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(b.Rows.Refresh(t.Context()), b.Pull()); err == nil {
		t.Error("a part is missing, and nobody says so")
	}
	if got := content(t, rootB); len(got) != 0 {
		t.Errorf("it has %v", got)
	}
	must.Do(t, db.PutPart(t.Context(), hex.EncodeToString(sum[:]), large))
	pull(t, b)
	same(t, "when it was whole", rootA, rootB)
	entries, err := os.ReadDir(rootB)
	if err != nil || len(entries) != 1 {
		t.Errorf("beside it: %v, %v", entries, err)
	}
}

// TestOneOfTwoChangesOfAUnitCounts, and the folder of who came second is as the first one made it.
func TestOneOfTwoChangesOfAUnitCounts(t *testing.T) {
	url := pgtest.URL(t)
	a, rootA := folder(t, url, map[string]string{"one/text": "old"})
	b, rootB := folder(t, url, nil)
	lay(t, rootA, "one/text", "first")
	lay(t, rootB, "one/text", "second")
	lay(t, rootB, "new/text", "second")
	must.Do(t, a.Push("one"))
	if err := b.Push("one", "new"); !errors.Is(err, clusterstate.ErrChanged) {
		t.Errorf("the second change: %v", err)
	}
	same(t, "after the second was refused", rootA, rootB)
}

// TestWhatOtherServersDoNotHaveIsPutAside at a start: a change that a crash kept from them, and files of a server that
// was alone before.
func TestWhatOtherServersDoNotHaveIsPutAside(t *testing.T) {
	url := pgtest.URL(t)
	_, rootA := folder(t, url, map[string]string{"one/text": "old", "two/text": "two"})
	lay(t, rootA, "one/text", "not told")
	lay(t, rootA, "three/text", "not told")
	started(t, url, rootA)
	got := content(t, rootA)
	if len(got) != 2 || got["one/text"] != "old" || got["two/text"] != "two" {
		t.Errorf("it has %v", got)
	}
	var aside []string
	err := filepath.WalkDir(filepath.Join(rootA, ".replaced"), func(at string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			aside = append(aside, filepath.Base(filepath.Dir(at)))
		}
		return err
	})
	if slices.Sort(aside); err != nil || !slices.Equal(aside, []string{"one", "three"}) {
		t.Errorf("put aside: %v, %v", aside, err)
	}
}
