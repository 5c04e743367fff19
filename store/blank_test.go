package store_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/store"
)

// ValuesAreThereOnceTheyAreStored: also in a space that was just found empty.
func (s suite) ValuesAreThereOnceTheyAreStored(t *testing.T) {
	ctx, db := t.Context(), s.open(t)
	missing := func(space, key string) {
		t.Helper()
		if body, err := db.KV(ctx, "o", space, key); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s/%s is %q, %v", space, key, body, err)
		}
	}
	for round := range 3 {
		for range 2 {
			missing("s", "k")
		}
		commit(t, db, store.Batch{KV: []store.KV{{Owner: "o", Space: "s", Key: "k", Body: []byte("v")}}})
		missing("s", "other")
		same(t, fmt.Sprint("value in round ", round), must.Get(db.KV(ctx, "o", "s", "k"))(t), []byte("v"))
		commit(t, db, store.Batch{KV: []store.KV{{Owner: "o", Space: "s", Key: "k"}}})
	}
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for n := range 50 {
				space := fmt.Sprint("race", n%5)
				key := fmt.Sprint(i, "-", n)
				missing(space, key)
				kv := store.KV{Owner: "o", Space: space, Key: key, Body: []byte("v")}
				must.Report(t, db.Commit(ctx, store.Batch{KV: []store.KV{kv}}))
				if _, err := db.KV(ctx, "o", space, key); err != nil {
					t.Errorf("%s was just stored: %v", key, err)
				}
				if kv.Body = nil; n%2 == 0 {
					must.Report(t, db.Commit(ctx, store.Batch{KV: []store.KV{kv}}))
				}
			}
		})
	}
	wg.Wait()
}

// EndsTellWhetherARunIsNext: one in line, or one that is held until the end is a good one.
func (s suite) EndsTellWhetherARunIsNext(t *testing.T) {
	db := s.open(t)
	newThread(t, db, "t")
	start := func(id string, hold bool) {
		t.Helper()
		commit(t, db, store.Batch{ThreadID: "t", NewRun: true, Line: &store.Line{Strategy: "enqueue", Hold: hold},
			Run: &store.Run{ID: id, ThreadID: "t", Status: "pending"}})
	}
	end := func(id string, promote bool) (more bool) {
		t.Helper()
		commit(t, db, store.Batch{ThreadID: "t", Run: &store.Run{ID: id, ThreadID: "t", Status: "success"},
			Line: &store.Line{Rest: "idle", Promote: promote, More: &more}})
		return more
	}
	start("a", false)
	same(t, "the only run", end("a", true), false)
	start("b", false)
	start("c", false)
	start("held", true)
	same(t, "one in line", end("b", true), true)
	same(t, "one held, after a bad end", end("c", false), false)
	start("d", false)
	same(t, "one held", end("d", true), true)
	same(t, "the last one", end("held", true), false)
}
