package store_test

import (
	"fmt"
	"sync"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/store"
)

// TestListsSayHowManyThreadsThereAre: also right after threads were made, given away and
// deleted, by several at once.
func (s suite) ListsSayHowManyThreadsThereAre(t *testing.T) {
	ctx, db := t.Context(), s.open(t)
	total := func(q store.ThreadQuery) int {
		t.Helper()
		q.Limit = 1
		_, n := must.Get2(db.Threads(ctx, q))(t)
		return n
	}
	same(t, "nothing", total(store.ThreadQuery{}), 0)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for n := range 25 {
				id := fmt.Sprintf("t%d-%d", i, n)
				err := db.Commit(ctx,
					store.Batch{NewThread: true, Thread: &store.Thread{ID: id, Owner: fmt.Sprint("o", i%2)}})
				if err != nil {
					t.Error(err)
					return
				}
				if _, got, err := db.Threads(ctx, store.ThreadQuery{Limit: 1}); err != nil || got <= n {
					t.Errorf("%d threads of at least %d, %v", got, n+1, err)
				}
			}
		})
	}
	wg.Wait()
	for range 2 {
		same(t, "all", total(store.ThreadQuery{}), 100)
		same(t, "of one", total(store.ThreadQuery{Owner: "o1"}), 50)
		same(t, "busy", total(store.ThreadQuery{Status: "busy"}), 0)
		same(t, "named", total(store.ThreadQuery{IDs: []string{"t0-1", "t1-1"}}), 2)
		same(t, "of nobody", total(store.ThreadQuery{Owner: "x"}), 0)
	}
	commit(t, db, store.Batch{ThreadID: "t1-0", Delete: &store.Delete{Thread: true}})
	commit(t, db, store.Batch{Thread: &store.Thread{ID: "t0-0", Owner: "o1"}})
	same(t, "all after a deletion", total(store.ThreadQuery{}), 99)
	same(t, "of one after a gift", total(store.ThreadQuery{Owner: "o1"}), 50)
	same(t, "of the other after a gift", total(store.ThreadQuery{Owner: "o0"}), 49)
}
