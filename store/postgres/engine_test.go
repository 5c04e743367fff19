package postgres

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"fawn/store/commit"
	"fawn/store/pgtest"
)

func openEngine(t *testing.T, cfg Config) *Engine {
	t.Helper()
	cfg.Log, cfg.Readers, cfg.SayTime = slog.New(slog.DiscardHandler), 4, time.Minute
	e, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// connectTo is a connection beside the engine's.
func connectTo(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conf, err := connConfig(Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.ConnectConfig(t.Context(), conf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

// writing is a group that writes a value, with a row in the tail.
func writing(row int64, key string) *commit.Group {
	return &commit.Group{Row: row, Jobs: []*commit.Job{{Plan: &commit.Plan{Stmts: []commit.Stmt{{What: "write", Of: "value",
		SQL: `INSERT INTO kv(owner, space, key, body) VALUES ('', 'test', ?, '')`, Args: []any{key}}}}}}}
}

func noRest(*commit.Job) error { return nil }

// TestALateGroupIsNotWrittenAgain, whether its row is still there or only a later one.
func TestALateGroupIsNotWrittenAgain(t *testing.T) {
	ctx, url := t.Context(), pgtest.URL(t)
	e, other := openEngine(t, Config{URL: url}), connectTo(t, url)
	span, _, err := e.Tail(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for i, key := range []string{"1", "2", "3"} {
		if err := e.Write(writing(span.First+int64(i), key), noRest); err != nil {
			t.Fatal(err)
		}
	}
	late := func() error { return e.writeOnce(writing(span.First+1, "late"), noRest, map[*commit.Job]bool{}) }
	if err := late(); !errors.Is(err, errWritten) {
		t.Errorf("its row is there: %v", err)
	}
	if _, err := other.Exec(ctx, `DELETE FROM tail WHERE id < $1`, span.First+2); err != nil {
		t.Fatal(err)
	}
	if err := late(); !errors.Is(err, errWritten) {
		t.Errorf("a later row is there: %v", err)
	}
	var keys int
	err = other.QueryRow(ctx, `SELECT count(*) FROM kv WHERE space = 'test' AND key <> 'late'`).Scan(&keys)
	if err != nil || keys != 3 {
		t.Errorf("%d values were written in time: %v", keys, err)
	}
	err = other.QueryRow(ctx, `SELECT count(*) FROM kv WHERE space = 'test' AND key = 'late'`).Scan(&keys)
	if err != nil || keys != 0 {
		t.Errorf("what came late is there: %v", err)
	}
}
