package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/store"
)

func commit(t testing.TB, db interface {
	Commit(context.Context, store.Batch) error
}, b store.Batch) {
	t.Helper()
	must.Do(t, db.Commit(context.Background(), b))
}

func newThread(t testing.TB, db *store.DB, id string) {
	t.Helper()
	commit(t, db, store.Batch{Thread: &store.Thread{ID: id}, NewThread: true})
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s:\n got %+v\nwant %+v", what, got, want)
	}
}

func checkClean(t testing.TB, db *store.DB) {
	t.Helper()
	for _, s := range must.Get(db.Check(context.Background()))(t) {
		t.Errorf("check: %s", s)
	}
}

// TestTextIsWhatEveryDatabaseTakes: U+0000 and bytes that are not UTF-8 are replaced, in what is
// written and in what is asked for. Bodies stay as they are.
func (s suite) TextIsWhatEveryDatabaseTakes(t *testing.T) {
	ctx, db := t.Context(), s.open(t)
	title, body := "a\x00b\xff", []byte("\"c\x00\xff\"")
	commit(t, db, store.Batch{Thread: &store.Thread{ID: "t\x00", Title: "first"}, NewThread: true,
		Patch:    &store.ThreadPatch{Title: &title, Merge: json.RawMessage(`{"name":"x"}`)},
		Run:      &store.Run{ID: "r\x00", ThreadID: "t\x00", Status: "error", Error: "no\xfe"},
		Messages: []store.MessageRow{{N: 1, ID: "m\x00", Body: body}},
		KV:       []store.KV{{Space: "s", Key: "k\xff", Body: body}}})
	th := must.Get(db.Thread(ctx, "t\x00"))(t)
	same(t, "thread", []string{th.ID, th.Title, string(th.Metadata)},
		[]string{"t\uFFFD", "a\uFFFDb\uFFFD", `{"name":"x"}`})
	run := must.Get(db.Run(ctx, "r\x00"))(t)
	same(t, "run", []string{run.ID, run.ThreadID, run.Error}, []string{"r\uFFFD", "t\uFFFD", "no\uFFFD"})
	same(t, "message", must.Get(db.Message(ctx, "t\x00", 1))(t), store.MessageRow{N: 1, ID: "m\uFFFD", Body: body})
	same(t, "value", must.Get(db.KV(ctx, "", "s", "k\xff"))(t), body)
	l := db.OpenLane("t\x00", nil)
	l.Append(1, []byte("delta"))
	flush(t, l)
	same(t, "last", must.Get(db.LastSeq(ctx, "t\uFFFD"))(t), int64(1))
	same(t, "title given", title, "a\x00b\xff")
	checkClean(t, db)
}

var at = time.Date(2026, 3, 4, 5, 6, 7, 89e6, time.UTC)

func (s suite) RowsComeBackAsWritten(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	db := s.openAt(t, dir)
	th := store.Thread{ID: "t1", Owner: "ann", Status: "busy", Title: "Deer", Metadata: json.RawMessage(`{"a":1}`),
		Config: json.RawMessage(`{"b":2}`), Head: "c2", CreatedAt: at, UpdatedAt: at.Add(time.Second),
		StateUpdatedAt: at.Add(2 * time.Second)}
	run := store.Run{ID: "r1", ThreadID: "t1", AssistantID: "lead_agent", Status: "running", Multitask: "enqueue",
		StopReason: "s", Error: "e", BaseCheckpoint: "c1", Owner: "ann", Metadata: json.RawMessage(`{"m":1}`),
		Kwargs: json.RawMessage(`{"k":1}`), Usage: json.RawMessage(`{"u":1}`), FirstSeq: 1, LastSeq: 9, Attempt: 2,
		CreatedAt: at, UpdatedAt: at}
	card := store.Card{Messages: []store.Range{{1, 1}, {3, 3}, {2, 2}}, Fields: map[string]int64{"title": 2}}
	cps := []store.Checkpoint{
		{ID: "c1", Thread: "t1", Run: "r1", Step: -1, Source: "input", Next: []string{"model"}, Meta: json.RawMessage(`{"x":1}`), Card: store.Card{Messages: []store.Range{{1, 1}}}, At: at},
		{ID: "c2", Parent: "c1", Thread: "t1", Run: "r1", Step: 0, Source: "loop", Next: []string{}, Meta: json.RawMessage(`{}`), Card: card, At: at},
	}
	events := []store.Event{{Thread: "t1", Seq: 1, To: 4, Run: "r1", Kind: "text", Data: []byte("abcd")},
		{Thread: "t1", Seq: 5, To: 5, Run: "r1", Kind: "end", Data: []byte("x")}}
	commit(t, db, store.Batch{Thread: &th, NewThread: true, Run: &run,
		Messages: []store.MessageRow{{1, "m1", []byte(`{"n":1}`)}, {2, "m2", []byte(`{"n":2}`)},
			{3, "m3", []byte(`{"n":3}`)}},
		Fields: []store.FieldRow{{"title", 1, []byte(`"a"`)}, {"title", 2, []byte(`"b"`)}}, Checkpoints: cps,
		Events: events,
		KV:     []store.KV{{"", "s", "k", []byte("v")}, {"", "s", "empty", []byte{}}, {"", "s", "a", []byte("1")}}})
	db = s.reopen(t, db, dir)

	same(t, "thread", must.Get(db.Thread(ctx, "t1"))(t), th)
	same(t, "run", must.Get(db.Run(ctx, "r1"))(t), run)
	same(t, "head", must.Get(db.Checkpoint(ctx, "t1", "", ""))(t), cps[1])
	same(t, "checkpoint", must.Get(db.Checkpoint(ctx, "t1", "", "c1"))(t), cps[0])
	same(t, "history", must.Get(db.Checkpoints(ctx, "t1", "", "", 0, nil))(t), []store.Checkpoint{cps[1], cps[0]})
	same(t, "older", must.Get(db.Checkpoints(ctx, "t1", "", "c2", 5, nil))(t), cps[:1])
	same(t, "matched",
		must.Get(db.Checkpoints(ctx, "t1", "", "", 1, func(c store.Checkpoint) bool { return c.Source == "input" }))(t),
		cps[:1])
	snap := must.Get(db.Snapshot(ctx, "t1", ""))(t)
	same(t, "snapshot", snap, store.Snapshot{Checkpoint: cps[1],
		Messages: []store.MessageRow{{1, "m1", []byte(`{"n":1}`)}, {3, "m3", []byte(`{"n":3}`)},
			{2, "m2", []byte(`{"n":2}`)}},
		Fields: map[string][]byte{"title": []byte(`"b"`)}, Incarnation: snap.Incarnation})
	same(t, "older snapshot", len(must.Get(db.SnapshotOf(ctx, cps[0]))(t).Messages), 1)
	same(t, "max message", must.Get(db.MaxMessage(ctx, "t1"))(t), int64(3))
	same(t, "message", must.Get(db.Message(ctx, "t1", 2))(t), store.MessageRow{2, "m2", []byte(`{"n":2}`)})
	same(t, "field", must.Get(db.Field(ctx, "t1", "title", 1))(t), []byte(`"a"`))
	same(t, "versions", must.Get(db.FieldVersions(ctx, "t1"))(t), map[string]int64{"title": 2})
	same(t, "standing", must.Get(db.Standing(ctx, "t1"))(t),
		store.Standing{Head: cps[1].ID, Title: th.Title, Top: 3, Fields: map[string]int64{"title": 2}, Next: nextAfter(db, 5)})
	same(t, "events", must.Get(db.Events(ctx, "t1", 0, 0, 0))(t), events)
	same(t, "last", must.Get(db.LastSeq(ctx, "t1"))(t), int64(5))
	same(t, "kv", must.Get(db.KV(ctx, "", "s", "k"))(t), []byte("v"))
	same(t, "empty kv", must.Get(db.KV(ctx, "", "s", "empty"))(t), []byte{})
	same(t, "keys", must.Get(db.Keys(ctx, "", "s"))(t), []string{"a", "empty", "k"})
	checkClean(t, db)

	commit(t, db, store.Batch{KV: []store.KV{{"", "one", "t1", []byte("1")}, {"", "two", "t2", []byte("2")}}})
	commit(t, db, store.Batch{Thread: &store.Thread{ID: "t3", Project: "p"}, NewThread: true})
	for thread, want := range map[string][4]string{"t1": {`{"a":1}`, "", "1", ""}, "t2": {"", "", "", "2"}, "t3": {"{}", "p", "", ""}} {
		meta, project, one, two, err := db.ThreadKV(ctx, thread, "one", "two")
		if err != nil || [4]string{string(meta), project, string(one), string(two)} != want {
			t.Errorf("what thread %s keeps: %s, %s, %s, %v", thread, meta, one, two, err)
		}
	}

	commit(t, db, store.Batch{KV: []store.KV{{"", "s", "k", nil}}})
	if _, err := db.KV(ctx, "", "s", "k"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("deleted value: %v", err)
	}
}

func (s suite) WhatIsNotThereIsErrNotFound(t *testing.T) {
	ctx, db := t.Context(), s.open(t)
	newThread(t, db, "empty")
	for name, get := range map[string]func() error{
		"thread":     func() error { _, err := db.Thread(ctx, "x"); return err },
		"run":        func() error { _, err := db.Run(ctx, "x"); return err },
		"checkpoint": func() error { _, err := db.Checkpoint(ctx, "empty", "", "x"); return err },
		"head":       func() error { _, err := db.Checkpoint(ctx, "empty", "", ""); return err },
		"namespace":  func() error { _, err := db.Checkpoint(ctx, "empty", "tools:1", ""); return err },
		"snapshot":   func() error { _, err := db.Snapshot(ctx, "x", ""); return err },
		"message":    func() error { _, err := db.Message(ctx, "empty", 1); return err },
		"field":      func() error { _, err := db.Field(ctx, "empty", "title", 1); return err },
		"kv":         func() error { _, err := db.KV(ctx, "", "s", "k"); return err },
		"patch":      func() error { return db.Commit(ctx, store.Batch{ThreadID: "x", Patch: &store.ThreadPatch{}}) },
		"rows of a deleted thread": func() error {
			return db.Commit(ctx, store.Batch{ThreadID: "x", Messages: []store.MessageRow{{1, "m", nil}}})
		},
		"run of a deleted thread": func() error { return db.Commit(ctx, store.Batch{Run: &store.Run{ID: "r", ThreadID: "x"}}) },
		"run and patch of a deleted thread": func() error {
			return db.Commit(ctx, store.Batch{ThreadID: "x", Run: &store.Run{ID: "r", ThreadID: "x"},
				Patch: &store.ThreadPatch{}, Events: []store.Event{{Seq: 1}}})
		},
		"standing": func() error { _, err := db.Standing(ctx, "x"); return err },
		"delete":   func() error { return db.Commit(ctx, store.Batch{ThreadID: "x", Delete: &store.Delete{Thread: true}}) },
		"card with a missing row": func() error {
			_, err := db.SnapshotOf(ctx,
				store.Checkpoint{Thread: "empty", Card: store.Card{Messages: []store.Range{{1, 2}}}})
			return err
		},
		"card with a missing field": func() error {
			_, err := db.SnapshotOf(ctx,
				store.Checkpoint{Thread: "empty", Card: store.Card{Fields: map[string]int64{"a": 1}}})
			return err
		},
	} {
		if err := get(); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	same(t, "last of nothing", must.Get(db.LastSeq(ctx, "x"))(t), int64(0))
	same(t, "standing of an empty thread", must.Get(db.Standing(ctx, "empty"))(t),
		store.Standing{Fields: map[string]int64{}, Next: nextAfter(db, 0)})
	checkClean(t, db)
}

// nextAfter is what a thread's Standing says of the next event: nothing where other servers may have some.
func nextAfter(db *store.DB, last int64) int64 {
	if db.Shared() {
		return 0
	}
	return last + 1
}

func (s suite) RowsAreWrittenOnce(t *testing.T) {
	ctx, db := t.Context(), s.open(t)
	first := store.Batch{Thread: &store.Thread{ID: "t", Title: "first"}, NewThread: true,
		Messages: []store.MessageRow{{1, "m", []byte("1")}}, Fields: []store.FieldRow{{"f", 1, []byte("1")}},
		Checkpoints: []store.Checkpoint{{ID: "c"}}, Events: []store.Event{{Seq: 1, To: 3}}}
	commit(t, db, first)
	title := "changed"
	for name, c := range map[string]struct {
		b    store.Batch
		want error
	}{
		"thread":     {store.Batch{Thread: &store.Thread{ID: "t"}, NewThread: true, KV: []store.KV{{"", "s", "thread", []byte{}}}}, store.ErrExists},
		"message":    {store.Batch{ThreadID: "t", Patch: &store.ThreadPatch{Title: &title}, Messages: first.Messages}, store.ErrConflict},
		"field":      {store.Batch{ThreadID: "t", Patch: &store.ThreadPatch{Title: &title}, Fields: first.Fields}, store.ErrConflict},
		"checkpoint": {store.Batch{ThreadID: "t", Patch: &store.ThreadPatch{Title: &title}, Checkpoints: first.Checkpoints}, store.ErrConflict},
		"event":      {store.Batch{ThreadID: "t", Patch: &store.ThreadPatch{Title: &title}, Events: first.Events}, store.ErrConflict},
	} {
		if err := db.Commit(ctx, c.b); !errors.Is(err, c.want) || errors.Is(err, store.ErrFull) {
			t.Errorf("%s twice: %v", name, err)
		}
	}
	same(t, "title after refused batches", must.Get(db.Thread(ctx, "t"))(t).Title, "first")
	same(t, "keys after refused batches", must.Get(db.Keys(ctx, "", "s"))(t), []string{})
	if err := db.Healthy(); err != nil {
		t.Errorf("a refused batch made the store sick: %v", err)
	}
}

func (s suite) PatchKeepsWhatItDoesNotName(t *testing.T) {
	ctx, db := t.Context(), s.open(t)
	commit(t, db,
		store.Batch{Thread: &store.Thread{ID: "t", Title: "a", Status: "idle", Metadata: json.RawMessage(`{"a":1}`),
			CreatedAt: at, UpdatedAt: at, StateUpdatedAt: at}})
	head, empty := "h", ""
	commit(t, db,
		store.Batch{ThreadID: "t",
			Patch: &store.ThreadPatch{Head: &head, Title: &empty, Config: json.RawMessage(`{"c":1}`)}})
	want := store.Thread{ID: "t", Owner: "default", Status: "idle", Head: "h", Metadata: json.RawMessage(`{"a":1}`),
		Config: json.RawMessage(`{"c":1}`), CreatedAt: at, UpdatedAt: at, StateUpdatedAt: at}
	same(t, "patched", must.Get(db.Thread(ctx, "t"))(t), want)
	before := time.Now().Truncate(time.Millisecond)
	commit(t, db, store.Batch{ThreadID: "t", Patch: &store.ThreadPatch{Touch: true, StateTouch: true}})
	got := must.Get(db.Thread(ctx, "t"))(t)
	if got.UpdatedAt.Before(before) || got.StateUpdatedAt.Before(before) || !got.CreatedAt.Equal(at) {
		t.Errorf("times after touch: %v %v %v", got.CreatedAt, got.UpdatedAt, got.StateUpdatedAt)
	}
}

func (s suite) RunsAreListedNewestFirst(t *testing.T) {
	ctx, db := t.Context(), s.open(t)
	newThread(t, db, "t")
	for i, status := range []string{"success", "running", "pending", "error", "pending"} {
		commit(t, db,
			store.Batch{Run: &store.Run{ID: fmt.Sprint("r", i), ThreadID: "t", Status: status,
				CreatedAt: at.Add(time.Duration(i) * time.Second)}})
	}
	ids := func(runs []store.Run, err error) (ids []string) {
		for _, r := range must.Get(runs, err)(t) {
			ids = append(ids, r.ID)
		}
		return ids
	}
	same(t, "all", ids(db.Runs(ctx, "t", "", 0, 0)), []string{"r4", "r3", "r2", "r1", "r0"})
	same(t, "page", ids(db.Runs(ctx, "t", "", 2, 1)), []string{"r3", "r2"})
	same(t, "pending", ids(db.Runs(ctx, "t", "pending", 0, 0)), []string{"r4", "r2"})
	same(t, "open", ids(db.OpenRuns(ctx)), []string{"r1", "r2", "r4"})
}

func (s suite) EventsPageByWhereTheyEnd(t *testing.T) {
	ctx, db := t.Context(), s.open(t)
	newThread(t, db, "t")
	// 3..9 encloses 5, which was durable before it.
	commit(t, db,
		store.Batch{ThreadID: "t",
			Events: []store.Event{{Seq: 1, To: 2, Data: []byte("aa")}, {Seq: 5, Data: []byte("b")}}})
	commit(t, db,
		store.Batch{ThreadID: "t",
			Events: []store.Event{{Seq: 3, To: 9, Data: []byte("cccc")}, {Seq: 10, To: 12, Data: []byte("d")}}})
	for name, c := range map[string]struct {
		after, until int64
		limit        int
		want         []int64
	}{
		"all":              {0, 0, 0, []int64{2, 5, 9, 12}},
		"inside a row":     {1, 0, 0, []int64{2, 5, 9, 12}},
		"inside, enclosed": {5, 0, 0, []int64{9, 12}},
		"until":            {0, 9, 0, []int64{2, 5, 9}},
		"first page":       {0, 0, 3, []int64{2, 5}},
		"one at least":     {5, 0, 1, []int64{9}},
		"nothing":          {12, 0, 0, nil},
	} {
		var got []int64
		for _, e := range must.Get(db.Events(ctx, "t", c.after, c.until, c.limit))(t) {
			got = append(got, e.To)
		}
		same(t, name, got, c.want)
	}
}

func (s suite) RollbackLeavesNoTraceAndReusesNoNumber(t *testing.T) {
	ctx, db := t.Context(), s.open(t)
	head := "c1"
	commit(t, db, store.Batch{Thread: &store.Thread{ID: "t", Head: "c2"}, Run: &store.Run{ID: "r", ThreadID: "t"},
		Messages: []store.MessageRow{{1, "a", nil}, {2, "b", nil}},
		Fields:   []store.FieldRow{{"f", 1, nil}, {"f", 2, nil}},
		Checkpoints: []store.Checkpoint{
			{ID: "c1", Card: store.Card{Messages: []store.Range{{1, 1}}, Fields: map[string]int64{"f": 1}}},
			{ID: "c2", Parent: "c1"}, {ID: "s1", NS: "tools:1"},
		},
		Events: []store.Event{{Seq: 1, To: 3}, {Seq: 4, To: 6}, {Seq: 7, To: 9}}})
	commit(t, db, store.Batch{ThreadID: "t", Patch: &store.ThreadPatch{Head: &head},
		Delete: &store.Delete{Runs: []string{"r"}, Checkpoints: []string{"c2", "s1"}, EventsFrom: 4, EventsTo: 9,
			MessagesFrom: 2, Fields: []store.FieldRow{{Name: "f", Version: 2}}}})
	checkClean(t, db)
	for table, want := range map[string]int64{"run": 0, "checkpoint": 1, "message": 1, "field": 1, "event": 1} {
		same(t, table, must.Get(db.Count(ctx, "SELECT count(*) FROM "+table))(t), want)
	}
	same(t, "last number", must.Get(db.LastSeq(ctx, "t"))(t), int64(9))
}

func (s suite) DeletedThreadLeavesNoRows(t *testing.T) {
	ctx, db := t.Context(), s.open(t)
	for _, id := range []string{"gone", "kept"} {
		commit(t, db, store.Batch{Thread: &store.Thread{ID: id}, Run: &store.Run{ID: "r" + id, ThreadID: id},
			Messages: []store.MessageRow{{1, "a", nil}}, Fields: []store.FieldRow{{"f", 1, nil}},
			Checkpoints: []store.Checkpoint{{ID: "c"}}, Events: []store.Event{{Seq: 1}}})
	}
	commit(t, db, store.Batch{ThreadID: "gone", Delete: &store.Delete{Thread: true}})
	for _, table := range []string{"run", "checkpoint", "message", "field", "event", "thread"} {
		same(t, table, must.Get(db.Count(ctx, "SELECT count(*) FROM "+table))(t), int64(1))
	}
	checkClean(t, db)
}

func (s suite) CheckNamesEveryBrokenReference(t *testing.T) {
	ctx, db := t.Context(), s.open(t)
	commit(t, db, store.Batch{Thread: &store.Thread{ID: "t", Head: "nohead"},
		Messages: []store.MessageRow{{1, "a", nil}, {2, "a", nil}, {4, "a", nil}},
		Fields:   []store.FieldRow{{"f", 1, nil}},
		Checkpoints: []store.Checkpoint{
			{ID: "c1", Parent: "noparent", Card: store.Card{Messages: []store.Range{{1, 2}, {4, 4}}, Fields: map[string]int64{"f": 1}}},
			{ID: "c2", Card: store.Card{Messages: []store.Range{{2, 4}}, Fields: map[string]int64{"f": 2, "g": 1}}},
			{ID: "c3", Card: store.Card{Messages: []store.Range{{5, 5}}}},
		}})
	commit(t, db, store.Batch{Thread: &store.Thread{ID: "u", Status: "busy"},
		Run:    &store.Run{ID: "r", ThreadID: "u", Status: "success", FirstSeq: 2, LastSeq: 20},
		Events: []store.Event{{Seq: 1, To: 3}, {Seq: 7, To: 9}, {Seq: 10, To: 18}}})
	commit(t, db, store.Batch{Thread: &store.Thread{ID: "v"},
		Events: []store.Event{{Seq: 1, To: 9, Run: "a"}, {Seq: 2, To: 4, Run: "b"}, {Seq: 6, To: 6, Run: "a"}, {Seq: 9, To: 12, Run: "c"},
			{Seq: 13, To: 14, Run: "c"}}})
	for _, damage := range []string{
		`INSERT INTO event VALUES ('ghost', 1, 1, '', '', CAST('' AS {bytes}))`,
		`INSERT INTO message VALUES ('ghost', 1, '', CAST('' AS {bytes}))`,
		`INSERT INTO field VALUES ('ghost', 'f', 1, CAST('' AS {bytes}))`,
		`INSERT INTO feedback VALUES ('f', 'default', 'ghost', '', '', 1, NULL, 1)`,
		`INSERT INTO audit(thread, kind, upto, body) VALUES ('ghost', '', 1, '')`,
		`INSERT INTO kv(owner, space, key, body) VALUES ('', 'thread_ttl', 'ghost', CAST('' AS {bytes})), ('', 'thread_x', 'ghost more', CAST('' AS {bytes})), ('', 'thread_x', 't more', CAST('' AS {bytes})),
			('', 'thread_document', 'unsent a.pdf', CAST('' AS {bytes}))`,
		`UPDATE thread SET seq = 5 WHERE id = 'u'`,
	} {
		if err := db.Exec(ctx, damage); err != nil {
			t.Fatal(damage, err)
		}
	}
	content := []string{
		"Checkpoint c2 of thread t needs messages 2 to 4, which are not all there.",
		"Checkpoint c2 of thread t needs version 2 of field f, which does not exist.",
		"Checkpoint c2 of thread t needs version 1 of field g, which does not exist.",
		"Checkpoint c3 of thread t needs messages 5 to 5, which are not all there.",
		"Run r of thread u: events 4 to 6 are missing.",
		"Run r of thread u: events 19 to 20 are missing.",
		"Thread v: events 2 to 4 were given twice, in run a and in run b.",
		"Thread v: event 6 was given twice, both times in run a.",
		"Thread v: event 9 was given twice, in run a and in run c.",
	}
	want := []string{
		"Thread ghost does not exist but has 1 rows in message.",
		"Thread ghost does not exist but has 1 rows in field.",
		"Thread ghost does not exist but has 1 rows in event.",
		"Thread ghost does not exist but has 1 rows in feedback.",
		"Thread ghost does not exist but has 1 rows in audit.",
		"Value thread_ttl/ghost belongs to a thread that does not exist.",
		"Value thread_x/ghost more belongs to a thread that does not exist.",
		"Thread t has head nohead, which does not exist.",
		"Checkpoint c1 of thread t has parent noparent, which does not exist.",
	}
	want = append(want, content...)
	want = append(want, "Thread u counts events up to 5 and has one that ends at 18.",
		"Thread u is busy, and no run of it is open.")
	same(t, "findings", must.Get(db.Check(ctx))(t), want)

	did := must.Get(db.Repair(ctx))(t)
	if len(did) < 10 {
		t.Errorf("the repair says %q", did)
	}
	same(t, "findings after the repair", must.Get(db.Check(ctx))(t), content)
	same(t, "head", must.Get(db.Thread(ctx, "t"))(t).Head, "c3")
	same(t, "status", must.Get(db.Thread(ctx, "u"))(t).Status, "idle")
	same(t, "last number", must.Get(db.LastSeq(ctx, "u"))(t), int64(18))
	again := slices.DeleteFunc(must.Get(db.Repair(ctx))(t), func(did string) bool {
		return strings.HasPrefix(did, "a copy from before")
	})
	if len(again) != 0 {
		t.Errorf("the second repair says %q", again)
	}
}

func (s suite) APatchedThreadKeepsItsLastNumber(t *testing.T) {
	ctx, db := t.Context(), s.open(t)
	newThread(t, db, "t")
	title := "a"
	for _, to := range []int64{4, 9} {
		commit(t, db, store.Batch{ThreadID: "t", Patch: &store.ThreadPatch{Title: &title},
			Events: []store.Event{{Thread: "t", Seq: to, To: to}}})
	}
	commit(t, db, store.Batch{ThreadID: "t", Patch: &store.ThreadPatch{Title: &title}})
	same(t, "last", must.Get(db.LastSeq(ctx, "t"))(t), int64(9))
	commit(t, db, store.Batch{ThreadID: "t", Delete: &store.Delete{EventsTo: 9}})
	same(t, "last of what was deleted", must.Get(db.LastSeq(ctx, "t"))(t), int64(9))
	checkClean(t, db)
}

// TestWishesOfOlderRunsAreMadeUp: a database from before they were stored says by strategies what
// waiting runs were to end.
func TestWishesOfOlderRunsAreMadeUp(t *testing.T) {
	dir := t.TempDir()
	script := `INSERT INTO thread(id, status, title, metadata, config, head, created_at, updated_at, state_updated_at)
		VALUES ('t', 'busy', '', '{}', '{}', '', 1, 1, 1);`
	for i, r := range []struct{ id, status, multitask, kwargs string }{
		{"ended", "success", "enqueue", "{}"}, {"active", "running", "enqueue", "{}"},
		{"queued", "pending", "interrupt", "{}"}, {"newest", "pending", "rollback", "{}"},
		{"held", "pending", "interrupt", `{"hold":true}`},
		{"later", "pending", "interrupt", `{"after_seconds":60}`},
	} {
		script += fmt.Sprintf(`INSERT INTO run(id, thread, assistant, status, multitask, stop_reason, error, base_checkpoint,
			metadata, kwargs, usage, first_seq, last_seq, attempt, created_at, updated_at)
			VALUES ('%s', 't', 'a', '%s', '%s', '', '', '', '{}', '%s', '{}', 0, 0, 1, %d, 1);`, r.id, r.status,
			r.multitask, r.kwargs, i)
	}
	must.Do(t, store.MadeBy(t.Context(), dir, 16, script))
	db := openAt(t, dir)
	got := map[string]string{}
	for _, r := range must.Get(db.Runs(t.Context(), "t", "", 0, 0))(t) {
		if r.Held {
			r.Wish += " held"
		}
		got[r.ID] = r.Wish
	}
	same(t, "wishes", got, map[string]string{"ended": "", "active": "rollback", "queued": "rollback", "newest": "",
		"held": " held", "later": ""})
}

func (s suite) RowsOfNobodyAreRefused(t *testing.T) {
	db := s.open(t)
	newThread(t, db, "t")
	for _, b := range []store.Batch{{Thread: &store.Thread{}}, {Run: &store.Run{ID: "r"}},
		{Messages: []store.MessageRow{{N: 1}}}, {Patch: &store.ThreadPatch{}},
		{ThreadID: "t", Patch: &store.ThreadPatch{Merge: json.RawMessage("[")}}} {
		if err := db.Commit(t.Context(), b); err == nil {
			t.Errorf("%+v was written", b)
		}
	}
}
