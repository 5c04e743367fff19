package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/store"
)

func TestFullDiskIsToldAndEndsWhenThereIsRoom(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	db := openAt(t, dir)
	newThread(t, db, "a")
	reserve := filepath.Join(dir, "reserve")
	if fi, err := os.Stat(reserve); err != nil || fi.Size() != 16<<20 {
		t.Fatalf("reserve: %v %v", fi, err)
	}
	must.Do(t, db.Limit(ctx, 2))
	var told []int64
	l := db.OpenLane("a", func(seq int64) { told = append(told, seq) })
	l.Append(1, []byte("small"))
	flush(t, l)
	l.Append(2, make([]byte, 100_000))
	if err := l.Flush(ctx); !errors.Is(err, store.ErrFull) {
		t.Fatalf("flush: %v", err)
	}
	if err := l.Wait(ctx, 1<<20); !errors.Is(err, store.ErrFull) {
		t.Errorf("wait: %v", err)
	}
	if err := db.Healthy(); !errors.Is(err, store.ErrFull) {
		t.Errorf("healthy: %v", err)
	}
	if _, err := os.Stat(reserve); err == nil {
		t.Error("the reserve was not freed")
	}
	err := db.Commit(ctx, store.Batch{KV: []store.KV{{"", "s", "k", make([]byte, 100_000)}}})
	if !errors.Is(err, store.ErrFull) {
		t.Errorf("a great batch: %v", err)
	}

	l.Append(3, []byte("after a hole"))
	if err := l.Flush(ctx); !errors.Is(err, store.ErrFull) {
		t.Errorf("flush after the hole: %v", err)
	}
	same(t, "told while full", told, []int64{1})
	same(t, "tail has no hole", texts(t, db), map[string][]string{"a": {"1:small"}})

	must.Do(t, db.Limit(ctx, 1000))
	status := "error"
	commit(t, l, store.Batch{ThreadID: "a", Patch: &store.ThreadPatch{Status: &status},
		Events: []store.Event{{Seq: 1, To: 4}}})
	if err := l.Wait(ctx, 0); err != nil {
		t.Errorf("the lane is still broken after an event covered the loss: %v", err)
	}
	same(t, "told", told, []int64{1, 4})
	for deadline := time.Now().Add(time.Minute); db.Healthy() != nil; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("still sick: %v", db.Healthy())
		}
	}
	if _, err := os.Stat(reserve); err != nil {
		t.Errorf("the reserve is not back: %v", err)
	}
	checkClean(t, db)
}
