package store_test

import (
	"context"
	"log/slog"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/store"
	"fawn/store/pgtest"
)

func TestPostgreSQL(t *testing.T) {
	url := pgtest.Storage(t)
	Suite(t, func(t testing.TB, dir string) *store.DB { return openPostgres(t, url, dir) })
}

// openPostgres opens what a folder stands for in a database.
func openPostgres(t testing.TB, url, dir string) *store.DB {
	t.Helper()
	db := must.Get(store.Open(context.Background(), store.Config{Dir: dir, URL: url, Schema: pgtest.Schema(dir),
		Addr: "127.0.0.1:2026", Log: slog.New(slog.DiscardHandler)}))(t)
	t.Cleanup(func() { must.Report(t, db.Close()) })
	return db
}
