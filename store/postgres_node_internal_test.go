package store

import (
	"context"
	"errors"
	"fmt"
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
	e := db.engine.(*postgresEngine)
	if _, err := other.Exec(ctx, `DELETE FROM node WHERE id = $1`, e.node.id); err != nil {
		t.Fatal(err)
	}
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

// TestWhoGaveUpTakesItsRowAway, over a connection that was not cut when it did.
func TestWhoGaveUpTakesItsRowAway(t *testing.T) {
	url := pgtest.URL(t)
	db := openAt(t, Config{URL: url, Lease: time.Minute})
	n := db.engine.(*postgresEngine).node
	n.stop()
	<-n.done
	if err := n.renew(t.Context()); err != nil {
		t.Fatal(err)
	}
	n.giveUp(errBehind)
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	var left int
	err := connectTo(t, url).QueryRow(t.Context(), `SELECT count(*) FROM node`).Scan(&left)
	if err != nil || left > 0 {
		t.Errorf("%d rows are left: %v", left, err)
	}
}

// TestATransactionThatDoesNotEndIsEnded: a server that was paused inside of one keeps nobody waiting, and what it
// had begun to write is gone.
func TestATransactionThatDoesNotEndIsEnded(t *testing.T) {
	url := pgtest.URL(t)
	db := openAt(t, Config{URL: url, Lease: 6 * time.Second})
	e := db.engine.(*postgresEngine)
	e.node.stop() // as if paused: nothing is renewed
	<-e.node.done
	if err := errors.Join(e.begin([]stmt{e.fence()}),
		e.run([]stmt{{what: "write", of: "tail", sql: `INSERT INTO tail(id, data) VALUES (1, '')`}})); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	list, err := nodes(t.Context(), connectTo(t, url))
	if err != nil || len(list) != 1 || list[0].Left <= 0 {
		t.Fatalf("%+v, %v", list, err)
	}
	next := openAt(t, Config{URL: url})
	if took := time.Since(began); took < list[0].Left || took > time.Minute {
		t.Errorf("replaced after %v, with a lease that was good for %v", took, list[0].Left)
	}
	if err := e.exec("COMMIT"); err == nil {
		t.Error("what was under way is committed")
	}
	if n, err := next.Count(t.Context(), `SELECT count(*) FROM tail`); err != nil || n > 0 {
		t.Errorf("%d rows are there: %v", n, err)
	}
	if err := db.Commit(t.Context(), Batch{Thread: &Thread{ID: "t"}}); !errors.Is(err, ErrFenced) {
		t.Errorf("then it writes: %v", err)
	}
}

// TestTheFenceNeedsToSeeWhatWasCommitted: with another isolation, also where that is the role's default, nothing
// passes; connections of ours have the one it needs.
func TestTheFenceNeedsToSeeWhatWasCommitted(t *testing.T) {
	url := pgtest.Start(t).URL
	other := connectTo(t, url)
	const set = `ALTER ROLE CURRENT_USER %s default_transaction_isolation`
	if _, err := other.Exec(t.Context(), fmt.Sprintf(set, "SET")+` TO 'repeatable read'`); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := other.Exec(context.Background(), fmt.Sprintf(set, "RESET")); err != nil {
			t.Error(err)
		}
	})
	db := openAt(t, Config{URL: url})
	if err := db.Commit(t.Context(), Batch{Thread: &Thread{ID: "t"}}); err != nil {
		t.Error(err)
	}
	if _, err := other.Exec(t.Context(), `BEGIN ISOLATION LEVEL REPEATABLE READ`); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Exec(t.Context(), `SELECT fence($1)`, db.engine.(*postgresEngine).node.id); err == nil {
		t.Error("the fence is passed with REPEATABLE READ")
	}
	if _, err := other.Exec(t.Context(), `ROLLBACK`); err != nil {
		t.Fatal(err)
	}
}
