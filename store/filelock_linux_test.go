package store_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/store"
)

// TestTheDatabaseStaysLockedWhileItIsOpen reads from the kernel that SQLite's shared lock on the file holds. Any close of
// the file in this process would end it, and SQLite's own command, being the last to close the file as it believes, would
// delete the log to which the server goes on to write.
func TestTheDatabaseStaysLockedWhileItIsOpen(t *testing.T) {
	dir := t.TempDir()
	db := must.Get(store.Open(t.Context(), store.Config{Dir: dir}))(t)
	defer db.Close()
	info := must.Get(os.Stat(filepath.Join(dir, store.FileName)))(t)
	const sharedFirst, sharedLast = 1<<30 + 2, 1<<30 + 511
	want := fmt.Sprintf(":%d %d %d", info.Sys().(*syscall.Stat_t).Ino, sharedFirst, sharedLast)
	locked := func(when string) {
		t.Helper()
		must.Do(t, db.Commit(t.Context(), store.Batch{Thread: &store.Thread{ID: when, Owner: store.DefaultOwner}, NewThread: true}))
		locks := string(must.Get(os.ReadFile("/proc/locks"))(t))
		if !strings.Contains(locks, want) {
			t.Errorf("%s: no lock%s among\n%s", when, want, locks)
		}
	}
	locked("after the start")
	must.Do(t, store.Copy(t.Context(), dir, filepath.Join(t.TempDir(), "copy.db")))
	locked("after a backup")
	must.Get(db.Thread(t.Context(), "after a backup"))(t)
	must.Get(db.Check(t.Context()))(t)
	locked("after a check")
}
