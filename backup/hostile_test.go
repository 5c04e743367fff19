package backup_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/backup"
	"fawn/store"
)

// folder is a data folder with a thread that has files.
func folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	db := must.Get(store.Open(t.Context(), store.Config{Dir: dir}))(t)
	must.Do(t, db.Commit(t.Context(), store.Batch{ThreadID: "t", Thread: &store.Thread{ID: "t"}}))
	must.Do(t, db.Close())
	write(t, filepath.Join(dir, "threads", "t", "user-data", "workspace", "a.txt"), "a text")
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
}

// entry is one of an archive made by hand; text is the file, or where a link leads.
type entry struct {
	name string
	kind byte
	text string
}

// archive is a backup with a database and these entries behind it, with sums and a manifest that are right.
func archive(t *testing.T, entries ...entry) string {
	t.Helper()
	dir := folder(t)
	db := must.Get(os.ReadFile(filepath.Join(dir, store.FileName)))(t)
	var out, sums bytes.Buffer
	zip := gzip.NewWriter(&out)
	w := tar.NewWriter(zip)
	add := func(e entry) {
		h := &tar.Header{Name: e.name, Typeflag: e.kind, Mode: 0o7777}
		if e.kind == tar.TypeReg {
			h.Size = int64(len(e.text))
		} else {
			h.Linkname = e.text
		}
		must.Do(t, w.WriteHeader(h))
		if e.kind == tar.TypeReg {
			must.Get(w.Write([]byte(e.text)))(t)
		}
	}
	m := backup.Manifest{Format: 1, Program: "test"}
	for i, e := range append([]entry{{"data/" + store.FileName, tar.TypeReg, string(db)}}, entries...) {
		add(e)
		if e.kind == tar.TypeReg {
			fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256([]byte(e.text)), e.name)
			m.Bytes += int64(len(e.text))
			if i > 0 {
				m.Files++
			}
		}
	}
	add(entry{"SHA256SUMS", tar.TypeReg, sums.String()})
	b := must.Get(json.Marshal(m))(t)
	add(entry{"manifest.json", tar.TypeReg, string(b)})
	must.Do(t, errors.Join(w.Close(), zip.Close()))
	path := filepath.Join(t.TempDir(), "made.tar.gz")
	write(t, path, out.String())
	return path
}

// TestNothingLeadsOut: archives that reach for other places are refused before anything is written, also
// if all their sums are right.
func TestNothingLeadsOut(t *testing.T) {
	file := func(name string) entry { return entry{"data/" + name, tar.TypeReg, "x"} }
	for name, entries := range map[string][]entry{
		"above":                      {file("../../evil")},
		"absolute":                   {{"/etc/evil", tar.TypeReg, "x"}},
		"absolute below":             {file("/etc/evil")},
		"dots inside":                {file("threads/../../evil")},
		"elsewhere":                  {{"other/evil", tar.TypeReg, "x"}},
		"the folder itself":          {{"data/./", tar.TypeDir, ""}},
		"a link to a folder":         {{"data/agents", tar.TypeSymlink, "/etc"}},
		"a link for the database":    {{"data/threads", tar.TypeSymlink, "/etc"}, file("threads/t/user-data/x")},
		"a hard link":                {{"data/threads/t/user-data/x", tar.TypeLink, "/etc/passwd"}},
		"a device":                   {{"data/threads/t/user-data/x", tar.TypeChar, ""}},
		"a pipe":                     {{"data/threads/t/user-data/x", tar.TypeFifo, ""}},
		"a second database":          {file("fawn.db")},
		"the lock":                   {file("lock")},
		"a log of the database":      {file("fawn.db-wal")},
		"twice":                      {file("USER.md"), file("USER.md")},
		"a folder where a file is":   {file("USER.md"), file("USER.md/x")},
		"a name that is much longer": {file(strings.Repeat("x/", 4000) + "x")},
	} {
		t.Run(name, func(t *testing.T) {
			to := filepath.Join(t.TempDir(), "a", "b")
			_, err := backup.Restore(t.Context(), archive(t, entries...), to, false)
			if err == nil {
				t.Fatal("restored")
			}
			if !errors.Is(err, backup.ErrInvalid) && name != "a folder where a file is" {
				t.Error(err)
			}
			var left []string
			err = filepath.WalkDir(filepath.Dir(filepath.Dir(to)), func(path string, e fs.DirEntry, err error) error {
				if err == nil && !e.IsDir() && e.Name() != "lock" {
					left = append(left, path)
				}
				return err
			})
			if err != nil || len(left) > 0 {
				t.Error("left are", left, err)
			}
		})
	}
	if _, err := backup.Restore(t.Context(), archive(t, file("USER.md")), t.TempDir(), false); err != nil {
		t.Error("a good one:", err)
	}
}

// TestLinksOfAChatAreKeptAndNeverFollowed: one that leads out is made last, so that nothing goes through it.
func TestLinksOfAChatAreKeptAndNeverFollowed(t *testing.T) {
	outside := t.TempDir()
	at := "data/threads/t/user-data/workspace/out"
	to := t.TempDir()
	_, err := backup.Restore(t.Context(), archive(t, entry{at, tar.TypeSymlink, outside}), to, false)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.Readlink(filepath.Join(to, strings.TrimPrefix(at, "data/"))); err != nil || got != outside {
		t.Errorf("the link is %q %v", got, err)
	}
	_, err = backup.Restore(t.Context(),
		archive(t, entry{at, tar.TypeSymlink, outside}, entry{at + "/evil", tar.TypeReg, "x"}), t.TempDir(), false)
	if !errors.Is(err, backup.ErrInvalid) {
		t.Errorf("a file through a link: %v", err)
	}
	if list, err := os.ReadDir(outside); err != nil || len(list) > 0 {
		t.Errorf("written outside: %v %v", list, err)
	}
}

// TestWhatCannotBeReadIsNamed and the rest is in the backup.
func TestWhatCannotBeReadIsNamed(t *testing.T) {
	if runtime.GOOS == "windows" || os.Getuid() == 0 && runtime.GOOS != "linux" {
		t.Skip("permissions do not count here")
	}
	dir := folder(t)
	work := filepath.Join(dir, "threads", "t", "user-data", "workspace")
	must.Do(t, os.Symlink(t.TempDir(), filepath.Join(dir, "agents")))
	must.Do(t, os.Symlink("a.txt", filepath.Join(work, "to a")))
	write(t, filepath.Join(work, "line\nbreak \\ 名"), "odd")
	path := filepath.Join(t.TempDir(), "b")
	r, err := backup.Write(t.Context(), path, backup.Options{Dir: dir})
	if err != nil || len(r.Left) != 1 || r.Left[0] != "agents: it is a link" || r.Files != 2 || r.Threads != 1 {
		t.Errorf("%+v %v", r, err)
	}
	if m, err := backup.Verify(t.Context(), path); err != nil || m.Files != 2 {
		t.Errorf("%+v %v", m, err)
	}
	to := t.TempDir()
	must.Get(backup.Restore(t.Context(), path, to, false))(t)
	work = filepath.Join(to, "threads", "t", "user-data", "workspace")
	for name, want := range map[string]string{"a.txt": "a text", "to a": "a text", "line\nbreak \\ 名": "odd"} {
		if b, err := os.ReadFile(filepath.Join(work, name)); err != nil || string(b) != want {
			t.Errorf("%q: %q %v", name, b, err)
		}
	}
}

// TestABackupThatIsCutOffLeavesNothing.
func TestABackupThatIsCutOffLeavesNothing(t *testing.T) {
	dir, to := folder(t), t.TempDir()
	write(t, filepath.Join(dir, store.FileName), "no database")
	if _, err := backup.Write(t.Context(), filepath.Join(to, "b"), backup.Options{Dir: dir}); err == nil {
		t.Error("written")
	}
	if list, err := os.ReadDir(to); err != nil || len(list) > 0 {
		t.Errorf("left are %v %v", list, err)
	}
}
