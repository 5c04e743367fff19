package store

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/store/pgtest"
)

// TestOneOwnerLeavesRoomForOthers: however many runs of one wait, another's are taken, up to a share.
func TestOneOwnerLeavesRoomForOthers(t *testing.T) {
	t.Run("SQLite", func(t *testing.T) { testOwnersShare(t, "") })
	t.Run("PostgreSQL", func(t *testing.T) { testOwnersShare(t, pgtest.URL(t)) })
}

func testOwnersShare(t *testing.T, url string) {
	db := openAt(t, Config{URL: url, MaxPending: 4})
	taken := func(owner string) (n int) {
		must.Do(t, db.Commit(t.Context(), Batch{Thread: &Thread{ID: owner, Owner: owner}, NewThread: true}))
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
		must.Do(t, db.Commit(t.Context(), Batch{Thread: &Thread{ID: "t"}}))
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
		must.Do(t, db.Commit(t.Context(), Batch{ThreadID: "t", Delete: &Delete{Thread: true}}))
		db.pending.at = time.Time{}
		must.Do(t, db.Commit(t.Context(), Batch{Thread: &Thread{ID: "t"}}))
		must.Report(t, put("again"))
	}
}
