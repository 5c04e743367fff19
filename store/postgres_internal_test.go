package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"fawn/agent/agenttest/must"
	"fawn/store/commit"
	"fawn/store/pgtest"
	"fawn/store/sqlite"
)

func openAt(t *testing.T, cfg Config) *DB {
	t.Helper()
	cfg.Dir, cfg.Log, cfg.sayTime = t.TempDir(), slog.New(slog.DiscardHandler), time.Minute
	db := must.Get(Open(t.Context(), cfg))(t)
	t.Cleanup(func() { db.Close() })
	return db
}

// TestKindsOfDatabasesHaveTheSameTables: with the same columns, as far as they are not what one of them
// needs for itself.
func TestKindsOfDatabasesHaveTheSameTables(t *testing.T) {
	pg := openAt(t, Config{URL: pgtest.Storage(t)})
	file := openAt(t, Config{})
	columns := func(db *DB, query string) []string {
		list, err := commit.Texts(t.Context(), db.engine.Reads(), query)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	want := columns(file, `SELECT m.name || '.' || c.name || ' ' || iif(c."notnull" OR c.pk, 'NOT NULL', '')
		FROM sqlite_master m JOIN pragma_table_xinfo(m.name) c
		WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite%' AND m.name NOT LIKE 'passage_word%' ORDER BY 1`)
	got := columns(pg, `SELECT table_name || '.' || column_name || ' ' || CASE is_nullable WHEN 'NO' THEN 'NOT NULL' ELSE '' END
		FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
		WHERE table_schema = current_schema() AND table_type = 'BASE TABLE'
			AND table_name NOT IN ('node', 'migration', 'passage_word')
		AND table_name || '.' || column_name NOT IN ('item.rowid', 'run.tail_from') ORDER BY 1`)
	slices.Sort(want)
	slices.Sort(got)
	for _, c := range want {
		if !slices.Contains(got, c) {
			t.Errorf("PostgreSQL lacks %s", c)
		}
	}
	for _, c := range got {
		if !slices.Contains(want, c) {
			t.Errorf("SQLite lacks %s", c)
		}
	}
	if schema, _, err := pg.engine.Shape(t.Context()); err != nil || schema != sqlite.Schema() {
		t.Errorf("migrations of PostgreSQL end at %d, those of SQLite at %d: %v", schema, sqlite.Schema(), err)
	}
}

// TestALostConnectionLosesNothing: while the connection that writes is cut again and again, every commit is
// there, and none twice, which the next one would find out.
func TestALostConnectionLosesNothing(t *testing.T) {
	url := pgtest.Start(t).URL
	db, other := openAt(t, Config{URL: url}), connectTo(t, url)
	ctx := t.Context()
	must.Do(t, db.Commit(ctx, Batch{Thread: &Thread{ID: "t"}}))
	const commits = 60
	for n := range int64(commits) {
		cut := make(chan error)
		go func() { // before, during or after the commit
			time.Sleep(rand.N(4 * time.Millisecond))
			_, err := other.Exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
				WHERE application_name LIKE 'fawn/%'`)
			cut <- err
		}()
		err := db.Commit(ctx,
			Batch{ThreadID: "t", Messages: []MessageRow{{N: n + 1, ID: fmt.Sprint(n), Body: []byte("{}")}}})
		if err := errors.Join(err, <-cut); err != nil {
			t.Fatalf("commit %d: %v", n, err)
		}
	}
	if n, err := db.Count(ctx, `SELECT count(*) FROM message`); err != nil || n != commits {
		t.Errorf("%d messages are there: %v", n, err)
	}
}

// connectTo is a connection beside the store's.
func connectTo(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conf, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	conf.RuntimeParams["search_path"] = "fawn"
	conn, err := pgx.ConnectConfig(t.Context(), conf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}
