package runs_test

import (
	"context"
	"os"
	"reflect"
	"testing"

	"fawn/store"
	"fawn/store/pgtest"
	"fawn/web/e2e/gate"
)

// suite is what runs do whatever keeps their rows: each method with a capital is a test.
type suite struct {
	openStore func(ctx context.Context, dir string) (*store.DB, error)
}

// Suite runs the tests over a kind of database, which openStore opens in a folder, new or not.
// Processes that are killed open it with openOwn.
func Suite(t *testing.T, openStore func(ctx context.Context, dir string) (*store.DB, error)) {
	all := reflect.ValueOf(suite{openStore})
	for i := range all.NumMethod() {
		t.Run(all.Type().Method(i).Name, all.Method(i).Interface().(func(*testing.T)))
	}
}

func TestSQLite(t *testing.T) { Suite(t, openSQLite) }

func openSQLite(ctx context.Context, dir string) (*store.DB, error) {
	return store.Open(ctx, store.Config{Dir: dir, Log: quiet()})
}

// postgresEnv tells the processes of a test where its PostgreSQL is.
const postgresEnv = "FAWN_RUNS_TEST_PG"

// openOwn opens the database of the test that started the process.
func openOwn(ctx context.Context, dir string) (*store.DB, error) {
	if url := os.Getenv(postgresEnv); url != "" {
		return openPostgres(ctx, url, dir)
	}
	return openSQLite(ctx, dir)
}

func openPostgres(ctx context.Context, url, dir string) (*store.DB, error) {
	return store.Open(ctx, store.Config{Dir: dir, URL: url, Schema: pgtest.Schema(dir), Log: quiet()})
}

func TestPostgreSQL(t *testing.T) {
	if raceDetector && !gate.Soaking() {
		t.Skip("in make nightly-cluster: it is slow under the race detector, which sees the same code over SQLite")
	}
	url := pgtest.URL(t)
	t.Setenv(postgresEnv, url)
	Suite(t, func(ctx context.Context, dir string) (*store.DB, error) { return openPostgres(ctx, url, dir) })
}
