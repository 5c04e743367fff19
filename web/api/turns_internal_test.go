package api

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// TestAClientThatLeavesWaitsForNoKey, and one that stays gets its turn.
func TestAClientThatLeavesWaitsForNoKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var k keys
		done, err := k.turn(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		left, leave := context.WithCancelCause(t.Context())
		gone := errors.New("gone")
		said, stays := make(chan error, 1), make(chan error, 1)
		go func() {
			_, err := k.turn(left, "k")
			said <- err
		}()
		go func() {
			done, err := k.turn(t.Context(), "k")
			if err == nil {
				done()
			}
			stays <- err
		}()
		synctest.Wait()
		leave(gone)
		if err := <-said; !errors.Is(err, gone) {
			t.Error(err)
		}
		done()
		if err := <-stays; err != nil {
			t.Error(err)
		}
	})
}
