package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
			if err := os.WriteFile(copied, []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err = store.Open(t.Context(), store.Config{Dir: dir}); err == nil || !strings.Contains(err.Error(), copied) {
				t.Errorf("the copy is not named: %v", err)
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
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "fawn.db"), nil, 0o600), os.Mkdir(filepath.Join(dir, "threads"), 0o700)); err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(t.Context(), store.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}
