package store_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/store"
	"fawn/store/pgtest"
)

func setting(t *testing.T, db *store.DB, name string) store.Setting {
	t.Helper()
	list := must.Get(db.Settings(t.Context(), name, "nobody's"))(t)
	if len(list) == 0 {
		return store.Setting{Name: name}
	}
	return list[0]
}

// SettingsAreSwappedByTheirVersion: all of them or none, and what was deleted keeps counting.
func (s suite) SettingsAreSwappedByTheirVersion(t *testing.T) {
	db, ctx := s.open(t), t.Context()
	steps := []struct {
		list    []store.Setting
		changed bool
		a, b    string
		changes int64
	}{
		{[]store.Setting{{Name: "a", Body: []byte("1")}, {Name: "b", Body: []byte("\x00\xff")}}, false, "1 1", "1 \x00\xff", 2},
		{[]store.Setting{{Name: "a", Body: []byte("again")}}, true, "1 1", "1 \x00\xff", 2},
		{[]store.Setting{{Name: "b", Version: 1, Body: []byte("2")}, {Name: "a", Version: 2}}, true, "1 1", "1 \x00\xff", 2},
		{[]store.Setting{{Name: "b", Version: 1, Body: []byte("2")}, {Name: "a", Version: 1}}, false, "2 <nil>", "2 2", 4},
		{[]store.Setting{{Name: "a", Body: []byte("new")}}, true, "2 <nil>", "2 2", 4},
		{[]store.Setting{{Name: "a", Version: 2, Body: []byte("3")}}, false, "3 3", "2 2", 5},
	}
	show := func(name string) string {
		one := setting(t, db, name)
		if one.Body == nil {
			return fmt.Sprint(one.Version, " <nil>")
		}
		return fmt.Sprint(one.Version, " ", string(one.Body))
	}
	for i, step := range steps {
		if err := db.SwapSettings(ctx, step.list...); errors.Is(err, store.ErrChanged) != step.changed ||
			err != nil && !step.changed {
			t.Errorf("%d: %v", i, err)
		}
		if a, b := show("a"), show("b"); a != step.a || b != step.b {
			t.Errorf("%d: a is %q and b %q", i, a, b)
		}
		if n, err := db.SettingChanges(ctx); n != step.changes || err != nil {
			t.Errorf("%d: %d changes, %v", i, n, err)
		}
	}
	if all, err := db.SettingVersions(ctx); err != nil || len(all) != 2 || all["a"] != 3 || all["b"] != 2 {
		t.Errorf("versions are %v, %v", all, err)
	}
}

// PartsOfSettingsAreNoSettings, so that whoever looks for changes need not look at them.
func (s suite) PartsOfSettingsAreNoSettings(t *testing.T) {
	db, ctx := s.open(t), t.Context()
	for _, body := range []string{"one", "another"} {
		must.Do(t, db.PutPart(ctx, "ab", []byte(body)))
	}
	must.Do(t, db.PutPart(ctx, "cd", nil))
	if b, err := db.Part(ctx, "ab"); err != nil || string(b) != "one" {
		t.Errorf("%q %v", b, err)
	}
	if all, err := db.SettingVersions(ctx); err != nil || len(all) > 0 {
		t.Errorf("versions are %v, %v", all, err)
	}
	must.Do(t, db.DropParts(ctx, "ab", "none"))
	if list, err := db.Parts(ctx); err != nil || !slices.Equal(list, []string{"cd"}) {
		t.Errorf("parts are %v, %v", list, err)
	}
	if _, err := db.Part(ctx, "ab"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a part that was dropped: %v", err)
	}
}

// WhatIsSpentIsSpentOnce, until it is worth nothing anyway.
func (s suite) WhatIsSpentIsSpentOnce(t *testing.T) {
	db := s.open(t)
	soon, past := time.Now().Add(time.Minute), time.Now().Add(-time.Second)
	for i, step := range []struct {
		hash  string
		until time.Time
		spent bool
	}{{"a", soon, false}, {"a", soon, true}, {"b", past, false}, {"a", soon, true}, {"b", past, false}} {
		if err := db.Spend(t.Context(), step.hash, step.until); errors.Is(err, store.ErrChanged) != step.spent ||
			err != nil && !step.spent {
			t.Errorf("%d: %v", i, err)
		}
	}
	if n, err := db.Parts(t.Context()); err != nil || len(n) > 0 {
		t.Errorf("parts are %v, %v", n, err)
	}
}

// NotesGoWithTheirThread: what they say is gone at once, and that they were there is known for a day. Those that count no
// more are deleted with the names that bound them.
func (s suite) NotesGoWithTheirThread(t *testing.T) {
	db, ctx := s.open(t), t.Context()
	commit(t, db, store.Batch{Thread: &store.Thread{ID: "té"}})
	commit(t, db, store.Batch{Thread: &store.Thread{ID: "u"}})
	soon, past := db.Now().Add(time.Minute), db.Now().Add(-2*time.Hour)
	must.Do(t, db.SwapNotes(ctx, nil, store.Note{Name: "k/1", Body: []byte("about t"), Until: soon, Thread: "té"},
		store.Note{Name: "k/2", Body: []byte("about u"), Until: soon, Thread: "u"}, store.Note{Name: "k/3", Body: []byte("x"), Until: soon},
		store.Note{Name: "k/4", Body: []byte("x"), Until: soon, Thread: "none"}, store.Note{Name: "old", Until: past, Thread: "u"}))
	checkClean(t, db)
	commit(t, db, store.Batch{ThreadID: "té", Delete: &store.Delete{Thread: true}})
	checkClean(t, db)
	got := map[string]string{}
	for _, n := range must.Get(db.Notes(ctx, "k/"))(t) {
		got[n.Name] = string(n.Body)
	}
	same(t, "notes", got, map[string]string{"k/1": "", "k/2": "about u", "k/3": "x", "k/4": "x"})
	if err := db.SwapNotes(ctx, nil, store.Note{Name: "k/1", Until: soon}); !errors.Is(err, store.ErrChanged) {
		t.Errorf("an emptied note is taken for none: %v", err)
	}
	names := func(want int64) {
		t.Helper()
		same(t, "names of notes", must.Get(db.Count(ctx, "SELECT count(*) FROM kv WHERE space = 'thread_note'"))(t), want)
	}
	names(1) // that of the old one was deleted at once
	for i, sweep := range []bool{false, true} {
		if sweep {
			db.SweepNotes()
		}
		must.Do(t, db.SwapNotes(ctx, nil, store.Note{Name: "k/2", Until: past, Over: true}))
		names(int64(1 - i))
	}
	same(t, "old notes", must.Get(db.Count(ctx, "SELECT count(*) FROM setting WHERE name IN ('note/old', 'note/k/2')"))(t), int64(0))
}

// TestASettingHasOneWinner when several servers change it at once, and the others are woken up.
func TestASettingHasOneWinner(t *testing.T) {
	url := pgtest.URL(t)
	a, b := joinCluster(t, url, longLease, nil), joinCluster(t, url, longLease, nil)
	heard := make(chan bool, 1)
	defer b.Hear(store.WakeSetting, 0, func(w store.Wake) {
		if slices.Contains(w.IDs, "last") {
			select {
			case heard <- true:
			default:
			}
		}
	})()
	for round := range int64(5) {
		var won [2]int
		var wg sync.WaitGroup
		for i, db := range []*store.DB{a, b} {
			wg.Go(func() {
				for range 4 {
					err := db.SwapSettings(t.Context(), store.Setting{Name: "s", Version: round, Body: []byte{byte(i)}},
						store.Setting{Name: fmt.Sprint("other ", i, round), Body: []byte{1}})
					if err == nil {
						won[i]++
					} else if !errors.Is(err, store.ErrChanged) {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		s := setting(t, a, "s")
		if won[0]+won[1] != 1 || s.Version != round+1 || won[s.Body[0]] != 1 {
			t.Errorf("round %d: won %v, the row is %+v", round, won, s)
		}
	}
	deadline := time.After(time.Minute)
	for version := int64(0); ; version++ { // the first ones may not know that somebody else is there
		one := store.Setting{Name: "last", Version: version, Body: []byte("x")}
		must.Do(t, a.SwapSettings(t.Context(), one))
		select {
		case <-heard:
			return
		case <-time.After(50 * time.Millisecond):
		case <-deadline:
			t.Fatal("the other server was not woken up")
		}
	}
}
