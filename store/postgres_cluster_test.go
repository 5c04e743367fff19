package store_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/store"
	"fawn/store/pgtest"
)

// joinCluster opens a database beside others that have it.
func joinCluster(t *testing.T, url string, lease time.Duration, lost func(error)) *store.DB {
	t.Helper()
	db := must.Get(openShared(t, url, true, lease, lost))(t)
	t.Cleanup(func() { db.Close() })
	return db
}

func openShared(t *testing.T, url string, cluster bool, lease time.Duration, lost func(error)) (*store.DB, error) {
	return store.Open(t.Context(), store.Config{Dir: t.TempDir(), URL: url, Schema: nodeSchema, Lease: lease,
		Cluster: cluster, Lost: lost, Log: slog.New(slog.DiscardHandler)})
}

// lines are threads with a run at the front of each, which waits, and whether this server has it.
func lines(t *testing.T, db *store.DB, crowded bool, threads ...string) {
	t.Helper()
	db.Crowded(crowded)
	for _, id := range threads {
		must.Do(t, db.Commit(t.Context(), store.Batch{Thread: &store.Thread{ID: id}, NewThread: true, NewRun: true,
			Run: &store.Run{ID: "run of " + id, ThreadID: id, Status: "pending"}, Line: &store.Line{}}))
	}
}

// TestServersShareADatabase: if all of them say so. One that doesn't is refused, and lets nobody join it.
func TestServersShareADatabase(t *testing.T) {
	url := pgtest.URL(t)
	alone, err := openShared(t, url, false, longLease, nil)
	if err != nil {
		t.Fatal(err)
	}
	taken := func(err error, why string) {
		t.Helper()
		if e, ok := errors.AsType[*store.TakenError](err); !ok || !strings.Contains(e.Error(), why) {
			t.Errorf("the error is %v", err)
		}
	}
	_, err = openShared(t, url, true, longLease, nil)
	taken(err, "it has the database for itself")
	must.Do(t, alone.Close())
	all := make([]*store.DB, 3)
	var wg sync.WaitGroup
	for i := range all {
		wg.Go(func() { all[i] = joinCluster(t, url, longLease, nil) })
	}
	wg.Wait()
	_, err = openShared(t, url, false, longLease, nil)
	taken(err, "Stop it first")
	seen := map[int64]bool{}
	for i, db := range all {
		id := fmt.Sprint("t", i)
		if err := db.Commit(t.Context(), store.Batch{Thread: &store.Thread{ID: id}}); err != nil || !db.Clustered() {
			t.Error(err)
		}
		must.Try(all[0].Thread(t.Context(), id))(t)
		seen[db.Self()] = true
	}
	if alone, err := all[0].Alone(t.Context()); err != nil || alone || len(seen) != 3 {
		t.Errorf("alone %v, %v; servers %v", alone, err, seen)
	}
}

// leaseOf is how long a server may count on its lease.
func leaseOf(db *store.DB) time.Duration {
	s, _ := db.Node()
	return s.Lease
}

// TestAServerOfSeveralThatIsGoneIsEvicted by the others, while they work, and its runs can be claimed.
func TestAServerOfSeveralThatIsGoneIsEvicted(t *testing.T) {
	waits(t)
	url, ctx := pgtest.URL(t), t.Context()
	wire := pgtest.NewWire(t, url)
	lost := make(chan error, 1)
	a := joinCluster(t, wire.URL, nodeLease, func(err error) { lost <- err })
	b := joinCluster(t, url, longLease, nil)
	lines(t, a, false, "waits", "works", "held")
	row := must.Get(a.Run(ctx, "run of works"))(t)
	row.Status = "running"
	must.Do(t, a.Commit(ctx, store.Batch{ThreadID: "works", Run: &row}))
	if list, err := b.ClaimWaiting(ctx, 9); err != nil || len(list) > 0 {
		t.Errorf("claimed from a server that lives: %v, %v", list, err)
	}
	wire.Freeze()
	cut, good := time.Now(), leaseOf(a)
	select {
	case <-b.Evicted():
	case <-time.After(5 * nodeLease):
		t.Fatal("nobody was evicted")
	}
	if took := time.Since(cut); good <= 0 || took < good {
		t.Errorf("evicted after %v, with a lease that was good for %v", took, good)
	}
	if due, err := b.Duties(ctx); err != nil || !due.Orphans || !due.Waiting {
		t.Errorf("this server is to do %+v: %v", due, err)
	}
	list, err := b.ClaimWaiting(ctx, 9)
	if want := []string{"held", "waits"}; err != nil || !slices.Equal(slices.Sorted(slices.Values(list)), want) {
		t.Errorf("claimed %v, want %v: %v", list, want, err)
	}
	left, err := b.ClaimOrphans(ctx, 9)
	if err != nil || len(left) != 1 || left[0] != (store.Orphan{Run: "run of works"}) {
		t.Errorf("claimed %+v: %v", left, err)
	}
	wish := store.Wish{Run: "run of works", Wish: store.WishInterrupt}
	must.Report(t, b.Commit(ctx, store.Batch{Wishes: []store.Wish{wish}}))
	due, err := b.Duties(ctx)
	if err != nil || len(due.Fronts) != 3 || due.Orphans || due.Waiting ||
		!slices.Equal(due.Wishes, []store.Wished{{Thread: "works", Wish: wish}}) {
		t.Errorf("this server is to do %+v: %v", due, err)
	}
	if err := <-lost; !errors.Is(err, store.ErrFenced) {
		t.Error(err)
	}
	wire.Thaw()
	if _, err := a.ClaimWaiting(ctx, 9); !errors.Is(err, store.ErrFenced) {
		t.Errorf("claimed by a server that was evicted: %v", err)
	}
}

// TestARunIsClaimedOnce whoever else claims, the oldest first.
func TestARunIsClaimedOnce(t *testing.T) {
	url := pgtest.URL(t)
	var servers []*store.DB
	for range 3 {
		servers = append(servers, joinCluster(t, url, longLease, nil))
	}
	var want []string
	for i := range 240 {
		want = append(want, fmt.Sprintf("t%03d", i))
	}
	lines(t, servers[0], true, want...)
	got := make([][]string, len(servers))
	var wg sync.WaitGroup
	for i, db := range servers {
		wg.Go(func() {
			for {
				list, err := db.ClaimWaiting(context.Background(), 3)
				if err != nil {
					t.Error(err)
				}
				if len(list) == 0 {
					return
				}
				slices.Sort(list)
				got[i] = append(got[i], list...)
			}
		})
	}
	wg.Wait()
	for i, list := range got {
		if !slices.IsSorted(list) {
			t.Errorf("server %d claimed in the order %v", i, list)
		}
	}
	all := slices.Sorted(slices.Values(slices.Concat(got...)))
	if !slices.Equal(all, want) {
		t.Errorf("%d were claimed, want %d: %v", len(all), len(want), all)
	}
}

// TestClaimsAreSharedBetweenOwners: one who has 80 runs in line costs another, who comes behind them, one place.
func TestClaimsAreSharedBetweenOwners(t *testing.T) {
	url, ctx := pgtest.URL(t), t.Context()
	a, b := joinCluster(t, url, longLease, nil), joinCluster(t, url, longLease, nil)
	a.Crowded(true)
	owners := map[string]string{}
	queue := func(owner string, n int) {
		for i := range n {
			id := fmt.Sprintf("%s%02d", owner, i)
			owners[id] = owner
			must.Do(t, a.Commit(ctx, store.Batch{Thread: &store.Thread{ID: id, Owner: owner}, NewThread: true, NewRun: true,
				Run: &store.Run{ID: "run of " + id, ThreadID: id, Owner: owner, Status: "pending"}, Line: &store.Line{}}))
		}
	}
	claimed := func(n int) (got map[string]int) {
		got = map[string]int{}
		list, err := b.ClaimWaiting(ctx, n)
		if err != nil || len(list) != n {
			t.Errorf("%d were claimed, want %d: %v", len(list), n, err)
		}
		for _, id := range list {
			got[owners[id]]++
		}
		return got
	}
	queue("ann", 80)
	queue("zoe", 1)
	if got := claimed(2); got["ann"] != 1 || got["zoe"] != 1 {
		t.Errorf("of two places: %v", got)
	}
	time.Sleep(250 * time.Millisecond) // it may be known for so long that only one waits
	queue("bob", 3)
	if got := claimed(1); got["bob"] != 1 {
		t.Errorf("of one place, with two of others at work: %v", got)
	}
	if got := claimed(4); got["ann"] != 2 || got["bob"] != 2 {
		t.Errorf("of four places: %v", got)
	}
	if got := claimed(20); got["ann"] != 20 { // nobody else waits
		t.Errorf("of twenty places: %v", got)
	}
	time.Sleep(250 * time.Millisecond)
	for i := range 100 { // more than are compared at once
		queue(fmt.Sprintf("m%02d", i), 1)
	}
	all := map[string]int{}
	for range 10 {
		for owner, n := range claimed(10) {
			all[owner] += n
		}
	}
	if delete(all, "ann"); len(all) < 100 {
		t.Errorf("%d of 100 owners with one run each came before the rest of one with many", len(all))
	}
}

// TestOnlyWhatWaitsIsIdle: not a run at the front that a living server has, however soon it got it.
func TestOnlyWhatWaitsIsIdle(t *testing.T) {
	url, ctx := pgtest.URL(t), t.Context()
	a, b := joinCluster(t, url, longLease, nil), joinCluster(t, url, longLease, nil)
	lines(t, a, true, "t")
	end := func(db *store.DB, id string) error {
		run, err := db.Run(ctx, id)
		if err != nil {
			return err
		}
		run.Status = "interrupted"
		return db.Commit(ctx, store.Batch{ThreadID: "t", Run: &run, Line: &store.Line{AsHead: true, Idle: id}})
	}
	behind := store.Batch{ThreadID: "t", NewRun: true, Line: &store.Line{},
		Run: &store.Run{ID: "behind", ThreadID: "t", Status: "pending"}}
	if err := errors.Join(b.Commit(ctx, behind), end(b, "behind")); err != nil {
		t.Errorf("one behind another: %v", err)
	}
	behind.Run.ID = "next"
	if err := errors.Join(b.Commit(ctx, behind), end(b, "run of t")); err != nil {
		t.Errorf("one that nobody has: %v", err)
	}
	if err := end(a, "next"); !errors.Is(err, store.ErrConflict) { // it is b's, whose batch brought it to the front
		t.Errorf("one that another server has: %v", err)
	}
}

// TestAThreadIsHeldByOneServer, as long as no run is in its line, and none of its runs is claimed then.
func TestAThreadIsHeldByOneServer(t *testing.T) {
	url, ctx := pgtest.URL(t), t.Context()
	a, b := joinCluster(t, url, longLease, nil), joinCluster(t, url, longLease, nil)
	must.Do(t, a.Commit(ctx, store.Batch{Thread: &store.Thread{ID: "t"}}))
	lines(t, a, true, "busy")
	for what, got := range map[string][2]error{
		"free":    {a.HoldThread(ctx, "t"), nil},
		"again":   {a.HoldThread(ctx, "t"), nil},
		"another": {b.HoldThread(ctx, "t"), store.ErrBusy},
		"in line": {b.HoldThread(ctx, "busy"), store.ErrBusy},
		"missing": {b.HoldThread(ctx, "missing"), store.ErrNotFound},
	} {
		if !errors.Is(got[0], got[1]) {
			t.Errorf("%s: %v, want %v", what, got[0], got[1])
		}
	}
	first := true
	err := b.Commit(ctx, store.Batch{ThreadID: "t", NewRun: true, Line: &store.Line{First: &first},
		Run: &store.Run{ID: "run", ThreadID: "t", Status: "pending"}})
	if first {
		t.Error("a run could begin on a thread that another server holds")
	}
	if front, failed := b.Front(ctx, "t"); err != nil || failed != nil || !front.Held {
		t.Errorf("the front is %+v: %v, %v", front, err, failed)
	}
	must.Report(t, b.LetGo(ctx, "t")) // which it does not have
	must.Do(t, a.Close())
	if front, err := b.Front(ctx, "t"); err != nil || front.Held {
		t.Errorf("the front is %+v: %v", front, err)
	}
}
