package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/store"
)

// TestNothingIsWrittenForACallerWhoHasLeft: what a write found out goes to variables of its
// caller, who may read them as soon as the call has returned.
func (s suite) NothingIsWrittenForACallerWhoHasLeft(t *testing.T) {
	db := s.open(t)
	entered, release := db.Hold(t.Context())
	<-entered
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Millisecond, cancel)
	err := db.PutItem(ctx, "", store.Item{Namespace: []string{"n"}, Key: "left", Value: []byte(`1`)})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("left: %v", err)
	}
	release()
	must.Do(t, db.PutItem(t.Context(), "", store.Item{Namespace: []string{"n"}, Key: "after", Value: []byte(`1`)}))
	if _, err := db.Item(t.Context(), "", []string{"n"}, "left", false); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an item of a caller who has left: %v", err)
	}

	for range 200 { // now and then the call ends while it is being carried out
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		threads, next, err := db.Overdue(ctx, time.Hour)
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		_, _ = threads, next
	}
}
