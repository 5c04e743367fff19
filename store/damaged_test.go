package store_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/store"
)

// TestADatabaseThatCannotBeOpenedIsKeptAndSaysWhatToDo: nothing of it is touched, and the
// newest copy beside it is named.
func TestADatabaseThatCannotBeOpenedIsKeptAndSaysWhatToDo(t *testing.T) {
	for _, c := range []struct {
		name, content string
		threads       bool
		want          string
	}{
		{"no database", strings.Repeat("this is no database. ", 500), false, "not a database"},
		{"an empty file beside threads", "", true, "the file is empty"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "fawn.db")
			err := os.WriteFile(path, []byte(c.content), 0o600)
			if c.threads {
				err = errors.Join(err, os.MkdirAll(filepath.Join(dir, "threads", "t1"), 0o700))
			}
			if err != nil {
				t.Fatal(err)
			}
			_, err = store.Open(t.Context(), store.Config{Dir: dir})
			if err == nil {
				t.Fatal("it was opened")
			}
			for _, want := range []string{path, c.want, "It is left as it is", "fawn fsck --data " + dir, "no copy"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in %v", want, err)
				}
			}
			copied := filepath.Join(dir, "fawn-v3-20260101T000000.000.db")
			must.Do(t, os.WriteFile(copied, []byte("x"), 0o600))
			_, err = store.Open(t.Context(), store.Config{Dir: dir})
			if err == nil || !strings.Contains(err.Error(), copied) {
				t.Errorf("the copy is not named: %v", err)
			}
			kept := filepath.Join(dir, "backups", "fawn-20260102T000000.tar.gz")
			soon := time.Now().Add(time.Minute)
			must.Do(t, errors.Join(os.Mkdir(filepath.Dir(kept), 0o700), os.WriteFile(kept, []byte("x"), 0o600),
				os.Chtimes(kept, soon, soon)))
			_, err = store.Open(t.Context(), store.Config{Dir: dir})
			if err == nil || !strings.Contains(err.Error(), "`fawn restore "+kept+" --force --data "+dir+"`") {
				t.Errorf("the backup is not named: %v", err)
			}
			if got, err := os.ReadFile(path); err != nil || string(got) != c.content {
				t.Errorf("the file was changed: %v", err)
			}
		})
	}
}

// TestAnEmptyDatabaseWithoutThreadsIsANewOne, as a first start leaves it that was cut off.
func TestAnEmptyDatabaseWithoutThreadsIsANewOne(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, errors.Join(os.WriteFile(filepath.Join(dir, "fawn.db"), nil, 0o600),
		os.Mkdir(filepath.Join(dir, "threads"), 0o700)))
	db := must.Get(store.Open(t.Context(), store.Config{Dir: dir}))(t)
	must.Do(t, db.Close())
}

// TestAMissingDatabaseBesideThreadsIsNotMadeAnew: what is there stays, and the message tells
// what was found and what to do.
func TestAMissingDatabaseBesideThreadsIsNotMadeAnew(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "fawn.db")
	file := filepath.Join(dir, "threads", "t1", "user-data", "workspace", "report.md")
	for name, content := range map[string]string{file: "report", path + "-wal": "log"} {
		must.Do(t, errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(content), 0o600)))
	}
	refused := func(open func(context.Context, store.Config) (*store.DB, error), wants ...string) {
		t.Helper()
		_, err := open(t.Context(), store.Config{Dir: dir})
		if d := (*store.DamagedError)(nil); !errors.As(err, &d) {
			t.Fatalf("it was made anew: %v", err)
		}
		for _, want := range append(wants, path, "the file is missing", "thread folders", "Nothing was changed",
			"fawn fsck --data "+dir, "move the folder threads away") {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("no %q in %v", want, err)
			}
		}
		if _, err := os.Stat(path); err == nil {
			t.Error("there is a database now")
		}
		for name, content := range map[string]string{file: "report", path + "-wal": "log"} {
			if got, err := os.ReadFile(name); err != nil || string(got) != content {
				t.Errorf("%s: %q, %v", name, got, err)
			}
		}
	}
	refused(store.Open, "no copy")
	refused(store.OpenCopy, "no copy")
	copied := filepath.Join(dir, "fawn-v3-20260101T000000.000.db")
	must.Do(t, os.WriteFile(copied, []byte("x"), 0o600))
	refused(store.Open, copied, "copy it to fawn.db")
	must.Do(t, os.Rename(filepath.Join(dir, "threads"), filepath.Join(dir, "threads-before")))
	db, err := store.Open(t.Context(), store.Config{Dir: dir})
	if err != nil {
		t.Fatalf("with the folders away: %v", err)
	}
	must.Do(t, db.Close())
}

// TestAFreshFolderOpens, also one that the doctor looked at before the first start.
func TestAFreshFolderOpens(t *testing.T) {
	for _, threads := range []string{"", "threads", "threads/probe-abcdefghijkl/user-data"} {
		dir := t.TempDir()
		must.Do(t, os.MkdirAll(filepath.Join(dir, threads), 0o700))
		db, err := store.Open(t.Context(), store.Config{Dir: dir})
		if err != nil {
			t.Errorf("%q: %v", threads, err)
			continue
		}
		must.Report(t, db.Close())
	}
}
