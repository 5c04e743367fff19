package store

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"fawn/store/pgtest"
)

// TestOnlyOneServerWrites: a second one is refused by name as soon as the first one has renewed its lease, whatever
// another schema does.
func TestOnlyOneServerWrites(t *testing.T) {
	url := pgtest.URL(t)
	openAt(t, Config{URL: url, Addr: "127.0.0.1:7777", Lease: time.Second})
	began := time.Now()
	_, err := Open(t.Context(), Config{URL: url, Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	if taken, ok := errors.AsType[*TakenError](err); !ok || taken.Node.PID == 0 || taken.Node.Left <= 0 ||
		!strings.Contains(err.Error(), "127.0.0.1:7777") {
		t.Errorf("a second server after %v: %v", time.Since(began), err)
	}
	openAt(t, Config{URL: url, Schema: "another"}) // is another store
}

// TestTheEvictedWriteNothing: whatever way of writing is taken, it is refused for good, told once, and nothing is
// changed.
func TestTheEvictedWriteNothing(t *testing.T) {
	url := pgtest.URL(t)
	told := make(chan error, 8)
	ctx := t.Context()
	db := openAt(t, Config{URL: url, Lost: func(err error) { told <- err }})
	other := connectTo(t, url)
	lane := db.OpenLane("t", nil)
	lane.Append(1, []byte("before"))
	if err := errors.Join(db.Commit(ctx, Batch{Thread: &Thread{ID: "t"}}), lane.Flush(ctx)); err != nil {
		t.Fatal(err)
	}
	rows := func() (n int) {
		t.Helper()
		err := other.QueryRow(ctx, `SELECT (SELECT count(*) FROM thread) + (SELECT count(*) FROM kv) +
			(SELECT count(*) FROM tail) + (SELECT count(*) FROM assistant) + (SELECT count(*) FROM message)`).Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := rows()
	if _, err := other.Exec(ctx, `DELETE FROM node`); err != nil {
		t.Fatal(err)
	}
	e := db.engine.(*postgresEngine)
	for range 2 { // refused by the database, then by itself
		if err := db.Commit(ctx, Batch{Thread: &Thread{ID: "after"}}); !errors.Is(err, ErrFenced) {
			t.Errorf("a commit of an evicted node: %v", err)
		}
	}
	if err := <-told; !errors.Is(err, ErrFenced) || len(told) > 0 {
		t.Errorf("told %v, and %d more", err, len(told))
	}
	if s, ok := db.Node(); !ok || s.Fenced != 2 || s.ID != e.node.id {
		t.Errorf("standing %+v, %v", s, ok)
	}
	lane.Append(2, []byte("after"))
	for what, write := range map[string]func() error{
		"batch": func() error { return db.Commit(ctx, Batch{Thread: &Thread{ID: "after"}}) },
		"delta": func() error { return lane.Flush(ctx) },
		"job": func() error {
			_, err := db.CreateAssistant(ctx, Assistant{ID: "a", Graph: "g"})
			return err
		},
		"thread removed": func() error {
			return db.Commit(ctx, Batch{ThreadID: "t", Delete: &Delete{Thread: true}})
		},
		"tail": func() error { return db.ClearTail(ctx) },
	} {
		e.node.over.Store(nil) // as one that does not know yet
		began := time.Now()
		if err := write(); !errors.Is(err, ErrFenced) || time.Since(began) > pgPatience/2 {
			t.Errorf("%s of an evicted node, after %v: %v", what, time.Since(began), err)
		}
	}
	if after := rows(); after != before {
		t.Errorf("%d rows became %d", before, after)
	}
}
