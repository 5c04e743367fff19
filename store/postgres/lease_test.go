package postgres

import (
	"errors"
	"testing"
	"time"

	"fawn/store/commit"
	"fawn/store/pgtest"
)

// TestWhoGaveUpTakesItsRowAway, over a connection that was not cut when it did.
func TestWhoGaveUpTakesItsRowAway(t *testing.T) {
	url := pgtest.URL(t)
	e := openEngine(t, Config{URL: url, Lease: time.Minute})
	e.Lease.stop()
	<-e.Lease.done
	if err := e.Lease.renew(t.Context()); err != nil {
		t.Fatal(err)
	}
	e.Lease.giveUp(errBehind)
	if err := e.Close(); err != nil {
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
	e, other := openEngine(t, Config{URL: url, Lease: 6 * time.Second}), connectTo(t, url)
	e.Lease.stop() // as if paused: nothing is renewed
	<-e.Lease.done
	if err := errors.Join(e.begin([]commit.Stmt{e.fence()}), e.Run([]commit.Stmt{{What: "write", Of: "tail",
		SQL: `INSERT INTO tail(id, data) VALUES (1, '')`}})); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	list, err := nodes(t.Context(), other)
	if err != nil || len(list) != 1 || list[0].Left <= 0 {
		t.Fatalf("%+v, %v", list, err)
	}
	openEngine(t, Config{URL: url})
	if took := time.Since(began); took < list[0].Left || took > time.Minute {
		t.Errorf("replaced after %v, with a lease that was good for %v", took, list[0].Left)
	}
	if err := e.exec("COMMIT"); err == nil {
		t.Error("what was under way is committed")
	}
	var rows int
	if err := other.QueryRow(t.Context(), `SELECT count(*) FROM tail`).Scan(&rows); err != nil || rows > 0 {
		t.Errorf("%d rows are there: %v", rows, err)
	}
	if err := e.Write(writing(2, "after"), noRest); !errors.Is(err, ErrFenced) {
		t.Errorf("then it writes: %v", err)
	}
}
