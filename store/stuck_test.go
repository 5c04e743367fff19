package store_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"fawn/store"
)

// AWaitForACommitEndsWithTheCommit: however long the disk stands still, and whoever gave up what the commit is for.
func (s suite) AWaitForACommitEndsWithTheCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := s.open(t)
		newThread(t, db, "a")
		_, release := db.Hold(t.Context())
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 2)
		batch := func(key string) store.Batch {
			return store.Batch{KV: []store.KV{{Space: "s", Key: key, Body: []byte("v")}}}
		}
		lane := db.OpenLane("a", nil)
		defer lane.Close()
		go func() { done <- db.Commit(store.Patiently(ctx), batch("k")) }()
		go func() { done <- lane.Commit(store.Patiently(ctx), batch("l")) }()
		cancel()
		var told, late, left []bool
		stop := db.OnWait(func(waiting bool) { told = append(told, waiting) })
		leave := db.OnWait(func(waiting bool) { left = append(left, waiting) })
		const freeze = time.Minute
		time.Sleep(freeze) // of the bubble's clock
		synctest.Wait()
		leave()
		defer db.OnWait(func(waiting bool) { late = append(late, waiting) })()
		synctest.Wait()
		select {
		case err := <-done:
			t.Fatalf("given up, and what became of it is not known: %v", err)
		default:
		}
		if now, times := db.Slow(); now < freeze || times != 1 {
			t.Errorf("the store says that it has been slow for %v, %d times", now, times)
		}
		release()
		for range 2 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		synctest.Wait()
		stop()
		if got := fmt.Sprint(told, late, left); got != "[true false] [true false] [true]" {
			t.Errorf("those who watch were told %s", got)
		}
		for _, key := range []string{"k", "l"} {
			if _, err := db.KV(t.Context(), "", "s", key); err != nil {
				t.Errorf("%s: %v", key, err)
			}
		}
		if now, times := db.Slow(); now != 0 || times != 1 {
			t.Errorf("afterwards the store says that it has been slow for %v, %d times", now, times)
		}
	})
}
