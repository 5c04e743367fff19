package runs_test

import (
	"context"
	"reflect"
	"testing"

	"fawn/store"
)

// suite is what runs do whatever keeps their rows: each method with a capital is a test.
type suite struct {
	openStore func(ctx context.Context, dir string) (*store.DB, error)
}

// Suite runs the tests over a kind of database, which openStore opens in a folder, new or not.
// Processes that are killed open a file of SQLite by themselves.
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
