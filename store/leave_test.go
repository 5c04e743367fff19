package store_test

import (
	"encoding/json"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/store"
)

func (s suite) AKeptThreadForgetsWhenItWasLeft(t *testing.T) {
	ctx, db := t.Context(), s.open(t)
	now := db.Now()
	temporary := json.RawMessage(`{"fawn_temporary":true}`)
	must.Do(t, db.Commit(ctx, store.Batch{Thread: &store.Thread{ID: "t", Metadata: temporary, CreatedAt: now, UpdatedAt: now, StateUpdatedAt: now},
		NewThread: true}))
	must.Do(t, db.SetLeave(ctx, "default", "t", now))
	left := func() int {
		return len(must.Get(db.Left(ctx, now.Add(time.Second), time.Hour, time.Time{}))(t))
	}
	if left() != 1 {
		t.Fatal("it wasn't left")
	}
	patch := func(merge string) {
		t.Helper()
		must.Do(t, db.Commit(ctx, store.Batch{ThreadID: "t", Patch: &store.ThreadPatch{Merge: json.RawMessage(merge)}}))
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
