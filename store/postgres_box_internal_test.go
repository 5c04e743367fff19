package store

import (
	"slices"
	"testing"
	"time"

	"fawn/store/pgtest"
)

// TestARunIsLeftToTheServerWithItsSandbox for a quarter of a second by the database's clock, and not longer.
func TestARunIsLeftToTheServerWithItsSandbox(t *testing.T) {
	url, ctx := pgtest.URL(t), t.Context()
	a, b := openAt(t, Config{URL: url, Cluster: true, Lease: time.Minute}),
		openAt(t, Config{URL: url, Cluster: true, Lease: time.Minute})
	conn := connectTo(t, url)
	begin := func(db *DB, thread, run string) {
		t.Helper()
		err := db.Commit(ctx, Batch{Thread: &Thread{ID: thread}, NewRun: true, Line: &Line{},
			Run: &Run{ID: run, ThreadID: thread, Status: "pending"}})
		if err != nil {
			t.Fatal(err)
		}
	}
	end := func(db *DB, thread, run string) {
		t.Helper()
		err := db.Commit(ctx, Batch{ThreadID: thread, Run: &Run{ID: run, ThreadID: thread, Status: "success"}})
		if err != nil {
			t.Fatal(err)
		}
	}
	begin(a, "t", "first")
	if there, err := b.TakeBox(ctx, "t"); there || err != nil {
		t.Errorf("a server without its run has the sandbox: %v, %v", there, err)
	}
	if there, err := a.TakeBox(ctx, "t"); !there || err != nil {
		t.Errorf("the server with its run has no sandbox: %v, %v", there, err)
	}
	end(a, "t", "first")

	begin(b, "t", "second")
	if p, err := b.Front(ctx, "t"); err != nil || p.Node != 0 {
		t.Errorf("the run is at %d: %v", p.Node, err)
	}
	if got, err := a.ClaimWaiting(ctx, 5); err != nil || !slices.Equal(got, []string{"t"}) {
		t.Errorf("the server with the sandbox claims %v, %v", got, err)
	}
	end(a, "t", "second")

	begin(b, "t", "third")
	var got []string
	for deadline := time.Now().Add(30 * time.Second); len(got) == 0 && time.Now().Before(deadline); {
		var err error
		if got, err = b.ClaimWaiting(ctx, 5); err != nil {
			t.Fatal(err)
		}
	}
	var waited float64
	err := conn.QueryRow(ctx, `SELECT (extract(epoch FROM clock_timestamp()) * 1000 - ready)::float FROM run
		WHERE id = 'third'`).Scan(&waited)
	if err != nil || !slices.Equal(got, []string{"t"}) || waited < float64(BoxPatience.Milliseconds()) {
		t.Errorf("another server claims %v after %v ms: %v", got, waited, err)
	}
}
