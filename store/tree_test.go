package store_test

import (
	"errors"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/store"
)

func (s suite) VersionsOfFilesFollowEachOther(t *testing.T) {
	ctx, db := t.Context(), s.open(t)
	if v := must.Get(db.TreeVersion(ctx, "t"))(t); v != 0 {
		t.Errorf("version %d of nothing", v)
	}
	must.Do(t, db.PutObjects(ctx, []string{"a", "b"}))
	one := must.Get(db.PutTree(ctx, "t", store.Tree{Whole: true, Body: []byte("1"), Objects: []string{"a"}}))(t)
	other := must.Get(db.PutTree(ctx, "u", store.Tree{Whole: true, Body: []byte("u")}))(t)
	two := must.Get(db.PutTree(ctx, "t", store.Tree{Parent: one, Body: []byte("2"), Objects: []string{"b"}}))(t)
	if one <= 0 || two <= one || other == one {
		t.Errorf("versions %d, %d and %d", one, two, other)
	}
	if _, err := db.PutTree(ctx, "t", store.Tree{Parent: one, Body: []byte("x")}); !errors.Is(err, store.ErrConflict) {
		t.Errorf("a second child: %v", err)
	}
	_, err := db.PutTree(ctx, "t", store.Tree{Parent: two, Objects: []string{"missing"}})
	if !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an object that is not there: %v", err)
	}
	three := must.Get(db.PutTree(ctx, "t", store.Tree{Parent: two, Whole: true, Body: []byte("3")}))(t)
	if v := must.Get(db.TreeVersion(ctx, "t"))(t); v != three {
		t.Errorf("newest %d, want %d", v, three)
	}
	bodies := func(version int64) (out string) {
		for _, tree := range must.Get(db.Trees(ctx, "t", version))(t) {
			out += string(tree.Body)
		}
		return out
	}
	if got := bodies(two) + " " + bodies(three); got != "12 3" {
		t.Errorf("bodies %s", got)
	}
	if _, err := db.Trees(ctx, "t", two+1); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("no such version: %v", err)
	}
}

func (s suite) ObjectsThatNothingNamesAreSpare(t *testing.T) {
	ctx, db := t.Context(), s.open(t)
	commit(t, db, store.Batch{Thread: &store.Thread{ID: "t"}})
	must.Do(t, db.PutObjects(ctx, []string{"a", "b", "c"}))
	one := must.Get(db.PutTree(ctx, "t", store.Tree{Whole: true, Objects: []string{"a"}}))(t)
	must.Get(db.PutTree(ctx, "u", store.Tree{Whole: true, Objects: []string{"b"}}))(t)
	later := time.Now().Add(time.Minute)
	same(t, "young ones", must.Get(db.SpareObjects(ctx, time.Now().Add(-time.Minute), 10))(t), []string{})
	same(t, "never named", must.Get(db.SpareObjects(ctx, later, 10))(t), []string{"c"})
	_, err := db.PutTree(ctx, "t", store.Tree{Parent: one, Objects: []string{"c"}})
	if !errors.Is(err, store.ErrNotFound) {
		t.Errorf("named while it is removed: %v", err)
	}
	must.Do(t, db.DropObject(ctx, "c"))
	commit(t, db, store.Batch{ThreadID: "t", Delete: &store.Delete{Thread: true}})
	same(t, "of a deleted thread", must.Get(db.SpareObjects(ctx, later, 10))(t), []string{"a"})
	if v := must.Get(db.TreeVersion(ctx, "t"))(t); v != 0 {
		t.Errorf("version %d of a deleted thread", v)
	}
	must.Do(t, db.DropTrees(ctx, "u"))
	same(t, "after that", must.Get(db.SpareObjects(ctx, later, 10))(t), []string{"a", "b"})
	for _, name := range []string{"a", "b"} {
		must.Do(t, db.DropObject(ctx, name))
	}
	same(t, "in the end", must.Get(db.SpareObjects(ctx, later, 10))(t), []string{})
}
