package cli_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/store"
	"fawn/web"
	"fawn/web/cli"
)

// TestFsckLooksIntoAFolderItCannotWriteTo, with what is only in the log of the database, and
// leaves nothing behind.
func TestFsckLooksIntoAFolderItCannotWriteTo(t *testing.T) {
	dir, temp := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", temp)
	db, err := store.Open(t.Context(), store.Config{Dir: dir})
	must.Do(t, err)
	err = db.Commit(t.Context(), store.Batch{NewThread: true, Thread: &store.Thread{ID: "t1", Status: "busy"}})
	log, readErr := os.ReadFile(filepath.Join(dir, "fawn.db-wal"))
	if err := errors.Join(err, readErr, db.Close(),
		os.WriteFile(filepath.Join(dir, "fawn.db-wal"), log, 0o444)); err != nil || len(log) == 0 {
		t.Fatal(len(log), err)
	}
	for _, name := range []string{"fawn.db", "lock", "."} {
		err = errors.Join(err, os.Chmod(filepath.Join(dir, name), 0o555))
	}
	err = errors.Join(err, os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(temp, 0o777),
		os.Chmod(filepath.Dir(temp), 0o755))
	t.Cleanup(func() { os.Chmod(dir, 0o755) })
	must.Do(t, err)
	check := func(repair bool) (out string, ok bool, err error) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			runtime.LockOSThread() // it ends with the goroutine, and its identity with it
			if os.Geteuid() == 0 { // whom no permission keeps out
				if err = syscall.Setfsuid(65534); err != nil {
					return
				}
			}
			var b bytes.Buffer
			ok, err = cli.Fsck(context.WithoutCancel(t.Context()), web.Options{Data: dir, Out: &b}, repair, false)
			out = b.String()
		}()
		<-done
		return out, ok, err
	}
	out, ok, err := check(false)
	if err != nil || ok || !strings.Contains(out, "Thread t1 is busy, and no run of it is open.") {
		t.Errorf("%v %v\n%s", ok, err, out)
	}
	if _, _, err := check(true); err == nil || !strings.Contains(err.Error(), "not writable") {
		t.Errorf("repair: %v", err)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}
