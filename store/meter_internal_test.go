package store

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"fawn/store/pgtest"
)

// TestServersThatCommitSlowlyAreStrained, and others that had an accident are not.
func TestServersThatCommitSlowlyAreStrained(t *testing.T) {
	begin := time.Unix(1_000_000, 0)
	after := func(d time.Duration) time.Time { return begin.Add(d) }
	var s strain
	for i := range 500 {
		s.add(after(time.Duration(i)*10*time.Millisecond), 5*time.Millisecond)
	}
	for range 3 { // less than one in a hundred
		s.add(after(5*time.Second), 600*time.Millisecond)
	}
	if s.heavy(after(5 * time.Second)) {
		t.Error("strained by three of five hundred")
	}
	for i := range 3 {
		if _, changed := s.add(after(6*time.Second), 600*time.Millisecond); changed != (i == 2) {
			t.Errorf("slow commit %d: %v", i+4, changed)
		}
	}
	if !s.heavy(after(14 * time.Second)) {
		t.Error("not strained")
	}
	if s.heavy(after(17 * time.Second)) {
		t.Error("strained by what is past")
	}
	if heavy, changed := s.add(after(17*time.Second), time.Millisecond); heavy || !changed {
		t.Error("its end was not told")
	}
	s = strain{}
	if s.add(begin, 700*time.Millisecond); s.heavy(begin) {
		t.Error("strained by the only one")
	}
	if s.add(begin, strainTime/2); !s.heavy(begin) {
		t.Error("not strained by one that takes half of the time")
	}
}

// TestOneOwnerLeavesRoomForOthers: however many runs of one wait, another's are taken, up to a share.
func TestOneOwnerLeavesRoomForOthers(t *testing.T) {
	t.Run("SQLite", func(t *testing.T) { testOwnersShare(t, "") })
	t.Run("PostgreSQL", func(t *testing.T) { testOwnersShare(t, pgtest.URL(t)) })
}

func testOwnersShare(t *testing.T, url string) {
	db := openAt(t, Config{URL: url, MaxPending: 4})
	taken := func(owner string) (n int) {
		if err := db.Commit(t.Context(), Batch{Thread: &Thread{ID: owner, Owner: owner}, NewThread: true}); err != nil {
			t.Fatal(err)
		}
		for ; n < 20; n++ {
			db.pending.at = time.Time{} // as if time had passed
			err := db.Commit(t.Context(), Batch{ThreadID: owner, NewRun: true, Line: &Line{Strategy: "enqueue"},
				Run: &Run{ID: fmt.Sprint(owner, n), ThreadID: owner, Owner: owner, Status: "pending"}})
			if errors.Is(err, ErrCrowded) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
		return n
	}
	if n := taken("eve"); n < 4 || n > 5 { // the one at the front may not wait
		t.Errorf("%d runs of the first were taken", n)
	}
	if n := taken("ann"); n < 2 || n > 3 {
		t.Errorf("%d runs of the second were taken", n)
	}
	if n := taken("bob"); n < 1 || n > 2 {
		t.Errorf("%d runs of the third were taken", n)
	}
}

// TestNewRunsAreRefusedWhereTooManyWait, on both kinds of databases, and taken again when fewer do.
func TestNewRunsAreRefusedWhereTooManyWait(t *testing.T) {
	for _, url := range []string{"", pgtest.URL(t)} {
		db := openAt(t, Config{URL: url, MaxPending: 3})
		if err := db.Commit(t.Context(), Batch{Thread: &Thread{ID: "t"}}); err != nil {
			t.Fatal(err)
		}
		put := func(id string) error {
			return db.Commit(t.Context(), Batch{ThreadID: "t", NewRun: true, Line: &Line{Strategy: "enqueue"},
				Run: &Run{ID: id, ThreadID: "t", Status: "pending"}})
		}
		n := 0
		for ; n < 10; n++ {
			if err := put(fmt.Sprint("r", n)); errors.Is(err, ErrCrowded) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			db.pending.at = time.Time{} // as if time had passed
		}
		if n < 3 || n > 4 { // the one at the front does not wait
			t.Errorf("%d runs were taken", n)
		}
		if err := db.Commit(t.Context(), Batch{ThreadID: "t", Delete: &Delete{Thread: true}}); err != nil {
			t.Fatal(err)
		}
		db.pending.at = time.Time{}
		if err := db.Commit(t.Context(), Batch{Thread: &Thread{ID: "t"}}); err != nil {
			t.Fatal(err)
		}
		if err := put("again"); err != nil {
			t.Error(err)
		}
	}
}
