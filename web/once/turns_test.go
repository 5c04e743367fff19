package once_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"fawn/agent/agenttest/must"
	"fawn/web/once"
)

// TestAClientThatLeavesWaitsForNoKey, and one that stays gets its turn.
func TestAClientThatLeavesWaitsForNoKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, key := once.New(nil, nil), keyOf(t, "k", "")
		done, err := k.Turn(t.Context(), key)
		must.Do(t, err)
		left, leave := context.WithCancelCause(t.Context())
		gone := errors.New("gone")
		said, stays := make(chan error, 1), make(chan error, 1)
		go func() {
			_, err := k.Turn(left, key)
			said <- err
		}()
		go func() {
			done, err := k.Turn(t.Context(), key)
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
