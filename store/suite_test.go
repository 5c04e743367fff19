package store_test

import (
	"context"
	"log/slog"
	"reflect"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/store"
)

// suite is what a store does whatever keeps its rows: each method with a capital is a test.
type suite struct {
	openAt func(t testing.TB, dir string) *store.DB // closed with the test
}

// Suite runs the tests of a kind of database, which openAt opens in a folder, new or not.
func Suite(t *testing.T, openAt func(t testing.TB, dir string) *store.DB) {
	all := reflect.ValueOf(suite{openAt})
	for i := range all.NumMethod() {
		t.Run(all.Type().Method(i).Name, all.Method(i).Interface().(func(*testing.T)))
	}
}

func TestSQLite(t *testing.T) { Suite(t, openAt) }

func (s suite) open(t testing.TB) *store.DB { return s.openAt(t, t.TempDir()) }

func (s suite) reopen(t testing.TB, db *store.DB, dir string) *store.DB {
	t.Helper()
	must.Do(t, db.Close())
	return s.openAt(t, dir)
}

// openAt opens a file of SQLite.
func openAt(t testing.TB, dir string) *store.DB {
	t.Helper()
	db := must.Get(store.Open(context.Background(),
		store.Config{Dir: dir, Addr: "127.0.0.1:2026", Log: slog.New(slog.DiscardHandler)}))(t)
	t.Cleanup(func() { must.Report(t, db.Close()) })
	return db
}

// open and reopen are for the tests of what only SQLite has, and for benchmarks.
func open(t testing.TB) *store.DB { return openAt(t, t.TempDir()) }

func reopen(t testing.TB, db *store.DB, dir string) *store.DB {
	t.Helper()
	return suite{openAt}.reopen(t, db, dir)
}
