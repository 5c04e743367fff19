package store_test

import (
	"encoding/json"
	"testing"
	"time"

	"fawn/store"
)

func (s suite) AKeptThreadForgetsWhenItWasLeft(t *testing.T) {
	ctx, db := t.Context(), s.open(t)
	now := db.Now()
	temporary := json.RawMessage(`{"fawn_temporary":true}`)
	ok(t, db.Commit(ctx, store.Batch{Thread: &store.Thread{ID: "t", Metadata: temporary, CreatedAt: now, UpdatedAt: now, StateUpdatedAt: now},
		NewThread: true}))
	ok(t, db.SetLeave(ctx, "default", "t", now))
	left := func() int {
		return len(must(db.Left(ctx, now.Add(time.Second), time.Hour, time.Time{}))(t))
	}
	if left() != 1 {
		t.Fatal("it wasn't left")
	}
	patch := func(merge string) {
		t.Helper()
		ok(t, db.Commit(ctx, store.Batch{ThreadID: "t", Patch: &store.ThreadPatch{Merge: json.RawMessage(merge)}}))
	}
	patch(`{"a":1}`)
	if left() != 1 {
		t.Error("another change of the metadata keeps it")
	}
	patch(`{"fawn_temporary":false}`)
	patch(`{"fawn_temporary":true}`)
	if left() != 0 {
		t.Error("a thread that was kept is deleted once it is temporary again")
	}
}
