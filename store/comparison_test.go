package store_test

import (
	"errors"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/store"
)

// Comparisons keep what was preferred, for their owner alone, and count for models.
func (s suite) Comparisons(t *testing.T) {
	db, ctx := s.open(t), t.Context()
	for _, id := range []string{"one", "two", "open"} {
		must.Do(t, db.AddComparison(ctx, store.Comparison{ID: id, Owner: "zoe", Sides: []store.ComparisonSide{
			{Thread: id + "-a", Model: "small"}, {Thread: id + "-b", Model: "big"}}}))
	}
	for _, c := range [][2]string{{"one", "one-a"}, {"one", "one-b"}, {"two", "two-b"}} {
		must.Do(t, db.ChooseSide(ctx, "zoe", c[0], c[1]))
	}
	for _, c := range [][3]string{{"ann", "one", "one-a"}, {"zoe", "one", "two-a"}, {"zoe", "gone", "x"}} {
		if err := db.ChooseSide(ctx, c[0], c[1], c[2]); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%v: %v", c, err)
		}
	}
	got, err := db.Comparison(ctx, "zoe", "one")
	if err != nil || got.Chosen != "one-b" || len(got.Sides) != 2 || got.Sides[1].Model != "big" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := db.Comparison(ctx, "ann", "one"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("somebody else's: %v", err)
	}
	list, err := db.ModelRecords(ctx)
	if err != nil || len(list) != 2 || list[0] != (store.ModelRecord{Model: "big", Won: 2, Seen: 2}) || list[1].Won != 0 {
		t.Errorf("%v, %v", list, err)
	}
	must.Do(t, db.RemoveOwned(ctx, "zoe"))
	if _, err := db.Comparison(ctx, "zoe", "one"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("of an owner that is gone: %v", err)
	}
}
