package storage_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fawn/sandbox/files"
	"fawn/store"
	"fawn/web/storage"
)

// TestASharedFolderIsTheOneOfTheDatabase: an empty one is taken by the first server, the same one and a copy of it by
// others; one that is not mounted is refused, and so is leaving files behind.
func TestASharedFolderIsTheOneOfTheDatabase(t *testing.T) {
	data := t.TempDir()
	db, err := store.Open(t.Context(), store.Config{Dir: data})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	shared, other := t.TempDir(), t.TempDir()
	prove := func(dir string) string {
		if err := storage.Prove(t.Context(), db, files.Dirs{Root: data, Shared: dir}); err != nil {
			return err.Error()
		}
		return ""
	}
	for range 2 {
		if got := prove(shared); got != "" {
			t.Errorf("the folder itself: %s", got)
		}
	}
	if got := prove(other); !strings.Contains(got, "is not the folder that has the files of this database") {
		t.Errorf("another folder: %q", got)
	}
	mark, err := os.ReadFile(filepath.Join(shared, ".fawn-files"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(other, ".fawn-files"), mark, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := prove(other); got != "" {
		t.Errorf("a copy: %s", got)
	}
	if left, err := filepath.Glob(filepath.Join(shared, ".probe-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	if err := os.MkdirAll(filepath.Join(data, "threads", "t1"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got := prove(shared); !strings.Contains(got, "move that folder into files.dir") {
		t.Errorf("with files in the data folder: %q", got)
	}
	if got := prove(""); got != "" {
		t.Errorf("without a shared folder: %s", got)
	}
}
