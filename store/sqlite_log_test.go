package store_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/store"
)

// killed is the data folder of a server that was killed with two threads, one of which is in the log only. change is
// done to the log.
func killed(t *testing.T, change func(log string) error) (dir string) {
	t.Helper()
	live := t.TempDir()
	dir = t.TempDir()
	db, err := store.Open(t.Context(), store.Config{Dir: live, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	newThread(t, db, "old")
	must.Do(t, db.Close())
	db = must.Get(store.Open(t.Context(), store.Config{Dir: live, Log: slog.New(slog.DiscardHandler)}))(t)
	newThread(t, db, "new")
	for i := range 20 {
		err = errors.Join(err, db.Commit(t.Context(), store.Batch{KV: []store.KV{{Space: "s", Key: fmt.Sprint(i),
			Body: []byte(strings.Repeat("x", 9000))}}}))
	}
	for _, name := range []string{"fawn.db", "fawn.db-wal", "lock"} { // as they are now
		b, readErr := os.ReadFile(filepath.Join(live, name))
		err = errors.Join(err, readErr, os.WriteFile(filepath.Join(dir, name), b, 0o600))
	}
	must.Do(t, errors.Join(err, db.Close(), change(filepath.Join(dir, "fawn.db-wal"))))
	return dir
}

// TestALogThatIsMissingOrDamagedIsTold: the start is refused where threads with folders are lost with it, and names the
// last copy and the way on; where nothing else tells of a loss it goes on and warns. A log that is whole is no matter.
func TestALogThatIsMissingOrDamagedIsTold(t *testing.T) {
	damage := func(at int64) func(string) error {
		return func(log string) error {
			f, err := os.OpenFile(log, os.O_RDWR, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteAt([]byte("damage"), at)
			return errors.Join(err, f.Close())
		}
	}
	const page = 4096 + 24
	for _, c := range []struct {
		name, problem string
		change        func(string) error
	}{
		{"whole", "", func(string) error { return nil }},
		{"missing", "fawn.db-wal is missing", os.Remove},
		{"cut off", "fawn.db-wal is cut off", func(log string) error { return os.Truncate(log, 20) }},
		{"damaged at its begin", "fawn.db-wal is damaged", damage(3)},
		{"damaged in the midst", "fawn.db-wal is damaged", damage(32 + page + 200)},
		{"damaged at its end", "", func(log string) error {
			info, err := os.Stat(log)
			if err != nil {
				return err
			}
			return os.Truncate(log, info.Size()-100) // as when the power fails
		}},
	} {
		for _, folder := range []string{"old", "new", "probe-abcdefghijkl"} {
			t.Run(c.name+" beside "+folder, func(t *testing.T) {
				dir := killed(t, c.change)
				copied := filepath.Join(dir, "fawn-v3-20260101T000000.000.db")
				must.Do(t, errors.Join(os.MkdirAll(filepath.Join(dir, "threads", folder), 0o700),
					os.WriteFile(copied, []byte("x"), 0o600)))
				before := must.Get(os.ReadFile(filepath.Join(dir, "fawn.db")))(t)
				var log agenttest.Log
				cfg := store.Config{Dir: dir, Log: slog.New(slog.NewTextHandler(&log, nil))}
				db, err := store.Open(t.Context(), cfg)
				refused := c.problem != "" && folder == "new" && c.name != "damaged in the midst" // which a power cut leaves
				if refused != (err != nil) {
					t.Fatalf("refused %v: %v", refused, err)
				}
				if warned := strings.Contains(log.String(), c.problem); c.problem != "" && !refused && !warned ||
					c.problem == "" && log.String() != "" {
					t.Errorf("the log says %q", log.String())
				}
				if !refused {
					must.Do(t, db.Close())
					log := agenttest.Log{}
					cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
					if db, err = store.Open(t.Context(), cfg); err != nil || log.String() != "" {
						t.Fatalf("again: %v, %s", err, log.String())
					}
					db.Close()
					return
				}
				for _, want := range []string{c.problem, "1 threads", "such as new", copied, "It is left as it is",
					"remove the file " + filepath.Join(dir, "lock")} {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("no %q in %v", want, err)
					}
				}
				if after, err := os.ReadFile(filepath.Join(dir, "fawn.db")); err != nil || string(after) != string(before) {
					t.Errorf("the file was changed: %v", err)
				}
				if _, err := store.Open(t.Context(), cfg); err == nil {
					t.Fatal("it is opened the second time")
				}
				if c.name == "missing" { // and another file takes its place
					must.Do(t, errors.Join(os.Rename(filepath.Join(dir, "fawn.db"), filepath.Join(dir, "away")),
						os.WriteFile(filepath.Join(dir, "fawn.db"), before, 0o600)))
				} else if err := os.Remove(filepath.Join(dir, "lock")); err != nil {
					t.Fatal(err)
				}
				if db, err = store.Open(t.Context(), cfg); err != nil || log.String() != "" {
					t.Fatalf("with what is left: %v, %s", err, log.String())
				}
				must.Try(db.Thread(t.Context(), "old"))(t)
				db.Close()
			})
		}
	}
}

// TestAFileWithoutItsLogLacksLittle, also where commits never pause.
func TestAFileWithoutItsLogLacksLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, alone := t.TempDir(), t.TempDir()
		db, err := store.Open(t.Context(), store.Config{Dir: dir, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		newThread(t, db, "t")
		for i := range 150 { // and as many seconds
			err = errors.Join(err, db.Commit(t.Context(), store.Batch{KV: []store.KV{{Space: "s", Key: fmt.Sprint(i),
				Body: []byte("x")}}}))
			time.Sleep(500 * time.Millisecond)
			err = errors.Join(err, db.Commit(t.Context(), store.Batch{KV: []store.KV{{Space: "s", Key: "last",
				Body: []byte("x")}}}))
			time.Sleep(500 * time.Millisecond)
		}
		b, readErr := os.ReadFile(filepath.Join(dir, "fawn.db"))
		must.Do(t, errors.Join(err, readErr, os.WriteFile(filepath.Join(alone, "fawn.db"), b, 0o600), db.Close()))
		db = must.Get(store.Open(t.Context(), store.Config{Dir: alone, Log: slog.New(slog.DiscardHandler)}))(t)
		defer db.Close()
		if _, err := db.Thread(t.Context(), "t"); err != nil {
			t.Errorf("the thread of %v ago: %v", 150*time.Second, err)
		}
		if keys, err := db.Keys(t.Context(), "", "s"); err != nil || len(keys) < 150-62 {
			t.Errorf("%d of 150 keys, %v", len(keys), err)
		}
	})
}
