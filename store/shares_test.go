package store_test

import (
	"errors"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/store"
)

func (s suite) ALinkShowsOneCheckpointUntilItIsTakenBack(t *testing.T) {
	ctx, db := t.Context(), s.open(t)
	commit(t, db, store.Batch{Thread: &store.Thread{ID: "t", Head: "c2"},
		Checkpoints: []store.Checkpoint{{ID: "c1"}, {ID: "c2", Parent: "c1"}}})
	gone := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := db.PutShare(ctx, store.Share{Thread: "t", Token: "x", Checkpoint: "nothing"})
	gone("a checkpoint that is not there", err)
	_, err = db.PutShare(ctx, store.Share{Thread: "t", Owner: "other", Token: "x", Checkpoint: "c1"})
	gone("a thread of somebody else", err)

	first := must.Get(db.PutShare(ctx, store.Share{Thread: "t", Token: "first", Checkpoint: "c1"}))(t)
	same(t, "by its token", must.Get(db.ShareByToken(ctx, "first"))(t), first)
	moved := must.Get(db.PutShare(ctx, store.Share{Thread: "t", Token: "second", Checkpoint: "c2"}))(t)
	if moved.Token != "first" || moved.Checkpoint != "c2" {
		t.Errorf("moved: %+v", moved)
	}
	_, err = db.ShareByToken(ctx, "second")
	gone("a token that was not needed", err)
	_, err = db.ShareOf(ctx, "other", "t")
	gone("a share of somebody else", err)

	deleted := time.Now()
	must.Do(t, db.Discard(ctx, "default", "t", deleted))
	_, err = db.ShareByToken(ctx, "first")
	gone("the link of a deleted thread", err)
	if back := must.Get(db.Restore(ctx, "default", deleted, time.Hour))(t); len(back) != 1 {
		t.Errorf("restored %v", back)
	}
	must.Get(db.ShareByToken(ctx, "first"))(t)
	checkClean(t, db)
	must.Do(t, db.DeleteShare(ctx, "", "t"))
	_, err = db.ShareByToken(ctx, "first")
	gone("a link that was taken back", err)
	gone("taking it back again", db.DeleteShare(ctx, "", "t"))
}

func (s suite) ALinkGoesWithWhatItShows(t *testing.T) {
	ctx, db := t.Context(), s.open(t)
	for name, d := range map[string]store.Delete{
		"thread": {Thread: true}, "checkpoint": {Checkpoints: []string{"c1"}}, "history": {History: true},
	} {
		commit(t, db, store.Batch{Thread: &store.Thread{ID: name, Head: "c2"},
			Checkpoints: []store.Checkpoint{{ID: "c1"}, {ID: "c2"}}})
		must.Get(db.PutShare(ctx, store.Share{Thread: name, Token: name, Checkpoint: "c1"}))(t)
		commit(t, db, store.Batch{ThreadID: name, Delete: &d})
		if _, err := db.ShareByToken(ctx, name); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
		if n := must.Get(db.Count(ctx, `SELECT count(*) FROM share`))(t); n != 0 {
			t.Errorf("%s: %d rows are left", name, n)
		}
	}
	// A link to the head outlives the history.
	commit(t, db, store.Batch{Thread: &store.Thread{ID: "h", Head: "c2"},
		Checkpoints: []store.Checkpoint{{ID: "c1"}, {ID: "c2"}}})
	must.Get(db.PutShare(ctx, store.Share{Thread: "h", Token: "h", Checkpoint: "c2"}))(t)
	commit(t, db, store.Batch{ThreadID: "h", Delete: &store.Delete{History: true}})
	must.Get(db.ShareByToken(ctx, "h"))(t)
	checkClean(t, db)
}
