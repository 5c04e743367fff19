package store

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/store/migrations"
	"fawn/store/pgtest"
	"fawn/store/postgres"
	"fawn/store/sqlite"
)

// later are the migrations of this program and of later ones.
func later(t *testing.T, scripts ...string) fs.FS {
	t.Helper()
	files := fstest.MapFS{}
	known, err := fs.Glob(migrations.Postgres, "postgres/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range known {
		data, err := fs.ReadFile(migrations.Postgres, name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = &fstest.MapFile{Data: data}
	}
	var newest int
	if _, err := fmt.Sscanf(path.Base(known[len(known)-1]), "%04d_", &newest); err != nil {
		t.Fatal(err)
	}
	for i, script := range scripts {
		files[fmt.Sprintf("postgres/%04d_later.sql", newest+1+i)] = &fstest.MapFile{Data: []byte(script)}
	}
	return files
}

// TestServersOfTwoProgramsShareADatabase while the tables of the newer one only add to those of the older one.
func TestServersOfTwoProgramsShareADatabase(t *testing.T) {
	url := pgtest.Storage(t)
	join := func(files fs.FS) (*DB, error) {
		return Open(t.Context(), Config{Dir: t.TempDir(), URL: url, Cluster: true, migrations: files,
			Log: slog.New(slog.DiscardHandler)})
	}
	opened := func(files fs.FS) *DB {
		t.Helper()
		db := must.Get(join(files))(t)
		t.Cleanup(func() { db.Close() })
		return db
	}
	refused := func(files fs.FS, words ...string) {
		t.Helper()
		db, err := join(files)
		if err == nil {
			db.Close()
			t.Fatal("it is let in")
		}
		for _, w := range words {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%q is not in: %v", w, err)
			}
		}
	}
	now := sqlite.Schema()
	added := "-- additive\nALTER TABLE thread ADD COLUMN mood text NOT NULL DEFAULT 'calm'"
	first := opened(nil)
	second := opened(later(t, added)) // while the first one lives
	both := func(a, b *DB, id string) {
		t.Helper()
		must.Report(t, a.Commit(t.Context(), Batch{Thread: &Thread{ID: id, Title: id}}))
		if got, err := b.Thread(t.Context(), id); err != nil || got.Title != id {
			t.Errorf("%+v, %v", got, err)
		}
	}
	both(first, second, "by-the-older")
	both(second, first, "by-the-newer")
	third := opened(nil) // an older program also starts beside them
	both(third, second, "by-another-older")

	dropped := later(t, added, "ALTER TABLE thread DROP COLUMN mood")
	refused(dropped, fmt.Sprint("have version ", now+1), fmt.Sprint("this program have ", now+2), "Stop it first")
	both(first, second, "after-a-refusal")
	for _, db := range []*DB{first, third} { // its own program could go on, only the one that drops cannot be joined
		must.Do(t, db.Close())
	}
	refused(dropped, fmt.Sprint("have version ", now+1))
	must.Do(t, second.Close())
	fourth := opened(dropped)
	refused(nil, fmt.Sprint("version ", now+2), fmt.Sprint("this one has ", now), "newer program")
	both(fourth, fourth, "by-the-newest")
}

// TestTablesAreChangedByHand where a server may not.
func TestTablesAreChangedByHand(t *testing.T) {
	url := pgtest.Storage(t)
	cfg := Config{Dir: t.TempDir(), URL: url, NoMigrate: true, Cluster: true, Log: slog.New(slog.DiscardHandler)}
	_, err := Open(t.Context(), cfg)
	if refused, ok := errors.AsType[*SchemaError](err); !ok || refused.Tables != 0 || refused.Binary != sqlite.Schema() ||
		!strings.Contains(err.Error(), "fawn migrate") {
		t.Fatal(err)
	}
	if from, to, err := MigrateTables(t.Context(), cfg); err != nil || from != 0 || to != sqlite.Schema() {
		t.Fatal(from, to, err)
	}
	db := openAt(t, cfg)
	cfg.migrations = later(t, "-- additive\nCREATE TABLE later (id bigint)")
	if from, to, err := MigrateTables(t.Context(), cfg); err != nil || from != sqlite.Schema() || to != sqlite.Schema()+1 {
		t.Error(from, to, err)
	}
	cfg.migrations = later(t, "-- additive\nCREATE TABLE later (id bigint)", "DROP TABLE later")
	if _, _, err := MigrateTables(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "Stop it first") {
		t.Error(err)
	}
	must.Report(t, db.Commit(t.Context(), Batch{Thread: &Thread{ID: "t"}}))
}

// TestNewFormsOfEventsWaitForAllServers: what may be written is what the oldest server reads.
func TestNewFormsOfEventsWaitForAllServers(t *testing.T) {
	url := pgtest.Storage(t)
	old := openAt(t, Config{URL: url, Cluster: true})
	must.Get(connectTo(t, url).Exec(t.Context(), `UPDATE node SET format = format - 1`))(t)
	db := openAt(t, Config{URL: url, Cluster: true, Lease: time.Minute})
	if n, _ := db.Node(); n.Format != postgres.NodeFormat-1 {
		t.Errorf("form %d", n.Format)
	}
	must.Do(t, old.Close())
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		n, _ := db.Node()
		if n.Format == postgres.NodeFormat {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("form %d", n.Format)
		}
	}
}
