package storage_test

import (
	"os"
	"path/filepath"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/sandbox/files"
	"fawn/store"
	"fawn/web/storage"
	"fawn/web/webtest"
)

// TestASharedFolderIsTheOneOfTheDatabase: an empty one is taken by the first server, the same one and a copy of it by
// others; one that is not mounted is refused, and so is leaving files behind.
func TestASharedFolderIsTheOneOfTheDatabase(t *testing.T) {
	data := t.TempDir()
	db, err := store.Open(t.Context(), store.Config{Dir: data})
	must.Do(t, err)
	defer db.Close()
	shared, other := t.TempDir(), t.TempDir()
	prove := func(dir string) string {
		if err := storage.Prove(t.Context(), db, files.Dirs{Root: data, Shared: dir}); err != nil {
			return err.Error()
		}
		return ""
	}
	for range 2 {
		webtest.Same(t, "the folder itself", prove(shared), "")
	}
	webtest.Holds(t, "another folder", prove(other), "is not the folder that has the files of this database")
	mark, err := os.ReadFile(filepath.Join(shared, ".fawn-files"))
	must.Do(t, err)
	must.Do(t, os.WriteFile(filepath.Join(other, ".fawn-files"), mark, 0o600))
	webtest.Same(t, "a copy", prove(other), "")
	if left, err := filepath.Glob(filepath.Join(shared, ".probe-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	must.Do(t, os.MkdirAll(filepath.Join(data, "threads", "t1"), 0o700))
	webtest.Holds(t, "with files in the data folder", prove(shared), "move that folder into files.dir")
	webtest.Same(t, "without a shared folder", prove(""), "")
}
