package store_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"fawn/store"
)

// TestOnlyAStoreThatStandsStillIsGivenUp: however long others take, who waits behind them is
// stored; a write that never ends holds nobody for ever.
func (s suite) OnlyAStoreThatStandsStillIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := s.open(t)
		newThread(t, db, "a")
		const patience = 10 * time.Second
		wait := func() chan error {
			done := make(chan error, 1)
			go func() {
				ctx, cancel := db.UnlessStuck(t.Context(), patience)
				defer cancel()
				done <- db.Commit(ctx, store.Batch{KV: []store.KV{{"", "s", "k", []byte("v")}}})
			}()
			synctest.Wait()
			return done
		}
		var releases []func()
		for range 5 {
			_, release := db.Hold(t.Context())
			synctest.Wait()
			releases = append(releases, release)
		}
		begin, done := time.Now(), wait()
		for _, release := range releases {
			time.Sleep(patience * 2 / 3) // of the bubble's clock
			release()
		}
		if err := <-done; err != nil {
			t.Errorf("after %v: %v", time.Since(begin), err)
		}

		_, release := db.Hold(t.Context())
		synctest.Wait()
		begin, done = time.Now(), wait()
		err := <-done
		took := time.Since(begin)
		if !errors.Is(err, context.DeadlineExceeded) || took < patience || took > 2*patience {
			t.Errorf("given up after %v: %v", took, err)
		}
		release()

		ctx, cancel := db.UnlessStuck(t.Context(), patience)
		cancel()
		if err := db.Commit(ctx, store.Batch{}); !errors.Is(err, context.Canceled) {
			t.Errorf("after the end: %v", err)
		}
	})
}
