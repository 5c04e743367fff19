package channels

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

func TestWhoWaitsIsServedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSemaphore(1)
		if !s.Try() {
			t.Fatal("no slot is free")
		}
		if s.Try() {
			t.Fatal("one slot was taken twice")
		}
		var order []int
		leaving, leave := context.WithCancel(t.Context())
		for i, ctx := range []context.Context{t.Context(), leaving, t.Context()} {
			go func() {
				if err := s.Take(ctx); err != nil {
					if !errors.Is(err, context.Canceled) {
						t.Error(err)
					}
					return
				}
				order = append(order, i)
			}()
			synctest.Wait()
		}
		leave()
		synctest.Wait()
		s.Give()
		synctest.Wait()
		if len(order) != 1 || s.Try() {
			t.Fatalf("after one was given back: %v", order)
		}
		s.Resize(2)
		synctest.Wait()
		if len(order) != 2 || order[0] != 0 || order[1] != 2 {
			t.Errorf("served were %v", order)
		}
		s.Give()
		s.Give()
		free := 0
		for range 3 {
			if s.Try() {
				free++
			}
		}
		if free != 2 {
			t.Errorf("%d of two slots are free", free)
		}
	})
}
