package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"fawn/agent/agenttest/must"
	"fawn/store"
)

func TestSecondOpenerLearnsWhoHasTheFolder(t *testing.T) {
	dir := t.TempDir()
	db := openAt(t, dir)
	_, err := store.Open(t.Context(), store.Config{Dir: dir})
	locked, ok := errors.AsType[*store.LockedError](err)
	if !ok || locked.PID != os.Getpid() || locked.Addr != "127.0.0.1:2026" || locked.Dir != dir {
		t.Fatalf("second open: %v", err)
	}
	if !strings.Contains(err.Error(), "127.0.0.1:2026") {
		t.Errorf("the sentence does not name the address: %v", err)
	}
	reopen(t, db, dir)
}

func TestDataAreTheOwnersOnly(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no permission bits on Windows")
	}
	dir := filepath.Join(t.TempDir(), "deep", "data #1?%41")
	db := openAt(t, dir)
	newThread(t, db, "t")
	for _, name := range []string{"", "fawn.db", "fawn.db-wal", "fawn.db-shm", "lock", "reserve"} {
		fi, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
		} else if fi.Mode().Perm()&0o077 != 0 {
			t.Errorf("%q has mode %v", name, fi.Mode())
		}
	}
}

func TestUnknownSyncIsRefused(t *testing.T) {
	if _, err := store.Open(t.Context(), store.Config{Dir: t.TempDir(), Sync: "off"}); err == nil {
		t.Error("opened")
	}
	db := must.Get(store.Open(t.Context(), store.Config{Dir: t.TempDir(), Sync: "full"}))(t)
	newThread(t, db, "t")
	must.Report(t, db.Close())
}

func TestMigrationCopiesFirstAndIsAllOrNothing(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	sql := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	files := fstest.MapFS{"sqlite/0001_a.sql": sql("CREATE TABLE a(x); INSERT INTO a VALUES (1);")}
	copies := func() int { return len(must.Get(filepath.Glob(filepath.Join(dir, "fawn-v*.db")))(t)) }
	if err := store.Migrate(ctx, dir, files); err != nil {
		t.Fatal(err)
	}
	same(t, "copies of an empty file", copies(), 0)

	files["sqlite/0002_b.sql"] = sql("CREATE TABLE b(x); INSERT INTO nowhere VALUES (1);")
	if err := store.Migrate(ctx, dir, files); err == nil {
		t.Fatal("a broken migration went through")
	}
	same(t, "copies", copies(), 1)
	files["sqlite/0002_b.sql"] = sql("CREATE TABLE b(x);") // fails if the broken one left its table
	if err := store.Migrate(ctx, dir, files); err != nil {
		t.Fatal(err)
	}
	delete(files, "sqlite/0002_b.sql")
	err := store.Migrate(ctx, dir, files)
	newer, ok := errors.AsType[*store.VersionError](err)
	if !ok || newer.File != 2 || newer.Binary != 1 {
		t.Fatalf("newer file: %v", err)
	}
	files["sqlite/0003_c.sql"] = sql("")
	if err := store.Migrate(ctx, dir, files); err == nil {
		t.Error("a gap in the numbers was accepted")
	}
}

func TestNewerDatabaseIsRefused(t *testing.T) {
	dir := t.TempDir()
	db := openAt(t, dir)
	must.Do(t, db.Exec(t.Context(), "PRAGMA user_version = 99"))
	must.Do(t, db.Close())
	_, err := store.Open(t.Context(), store.Config{Dir: dir})
	if newer, ok := errors.AsType[*store.VersionError](err); !ok || newer.File != 99 || newer.Binary < 1 {
		t.Errorf("open: %v", err)
	}
	if _, err := store.Open(t.Context(), store.Config{Dir: dir}); errors.As(err, new(*store.LockedError)) {
		t.Error("a refused open keeps the lock")
	}
}
