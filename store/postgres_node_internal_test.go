package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/store/pgtest"
)

// TestOnlyOneServerWrites: a second one is refused by name as soon as the first one has renewed its lease, whatever
// another schema does.
func TestOnlyOneServerWrites(t *testing.T) {
	url := pgtest.URL(t)
	openAt(t, Config{URL: url, Addr: "127.0.0.1:7777", Lease: time.Minute})
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
	db := openAt(t, Config{URL: url, Cluster: true, Lost: func(err error) { told <- err }})
	beside(t, db)
	other := connectTo(t, url)
	lane := db.OpenLane("t", nil)
	lane.Append(1, []byte("before"))
	must.Do(t, errors.Join(db.Commit(ctx, Batch{Thread: &Thread{ID: "t"}}), lane.Flush(ctx)))
	rows := func() (n int) {
		t.Helper()
		must.Do(t, other.QueryRow(ctx, `SELECT (SELECT count(*) FROM thread) + (SELECT count(*) FROM kv) +
			(SELECT count(*) FROM tail) + (SELECT count(*) FROM assistant) + (SELECT count(*) FROM message)`).Scan(&n))
		return n
	}
	before := rows()
	evict := func(db *DB) {
		t.Helper()
		if _, err := other.Exec(ctx, `DELETE FROM node WHERE id = $1`, db.Self()); err != nil {
			t.Fatal(err)
		}
	}
	evict(db)
	for range 2 { // refused by the database, then by itself
		if err := db.Commit(ctx, Batch{Thread: &Thread{ID: "after"}}); !errors.Is(err, ErrFenced) {
			t.Errorf("a commit of an evicted node: %v", err)
		}
	}
	if err := <-told; !errors.Is(err, ErrFenced) || len(told) > 0 {
		t.Errorf("told %v, and %d more", err, len(told))
	}
	if s, ok := db.Node(); !ok || s.Fenced != 2 || s.ID != db.Self() {
		t.Errorf("standing %+v, %v", s, ok)
	}
	for what, write := range map[string]func(*DB) error{
		"batch": func(db *DB) error { return db.Commit(ctx, Batch{Thread: &Thread{ID: "after"}}) },
		"delta": func(db *DB) error {
			lane := db.OpenLane("t", nil)
			lane.Append(2, []byte("after"))
			return lane.Flush(ctx)
		},
		"job": func(db *DB) error {
			_, err := db.CreateAssistant(ctx, Assistant{ID: "a", Graph: "g"})
			return err
		},
		"thread removed": func(db *DB) error {
			return db.Commit(ctx, Batch{ThreadID: "t", Delete: &Delete{Thread: true}})
		},
		"tail": func(db *DB) error { return db.ClearTail(ctx) },
	} {
		db := openAt(t, Config{URL: url, Cluster: true})
		evict(db) // it does not know yet
		began := time.Now()
		if err := write(db); !errors.Is(err, ErrFenced) || time.Since(began) > 5*time.Second {
			t.Errorf("%s of an evicted node, after %v: %v", what, time.Since(began), err)
		}
	}
	if after := rows(); after != before {
		t.Errorf("%d rows became %d", before, after)
	}
}

// TestTheFenceNeedsToSeeWhatWasCommitted: with another isolation, also where that is the role's default, nothing
// passes; connections of ours have the one it needs.
func TestTheFenceNeedsToSeeWhatWasCommitted(t *testing.T) {
	url := pgtest.Start(t).URL
	other := connectTo(t, url)
	const set = `ALTER ROLE CURRENT_USER %s default_transaction_isolation`
	must.Get(other.Exec(t.Context(), fmt.Sprintf(set, "SET")+` TO 'repeatable read'`))(t)
	t.Cleanup(func() {
		must.Try(other.Exec(context.Background(), fmt.Sprintf(set, "RESET")))(t)
	})
	db := openAt(t, Config{URL: url})
	if err := db.Commit(t.Context(), Batch{Thread: &Thread{ID: "t"}}); err != nil {
		t.Error(err)
	}
	if _, err := other.Exec(t.Context(), `BEGIN ISOLATION LEVEL REPEATABLE READ`); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Exec(t.Context(), `SELECT fence($1)`, db.Self()); err == nil {
		t.Error("the fence is passed with REPEATABLE READ")
	}
	must.Get(other.Exec(t.Context(), `ROLLBACK`))(t)
}
