package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/store"
)

// lineOf is the line of thread t as "run status wish", the front first, and the thread's status.
func lineOf(t *testing.T, db *store.DB) string {
	t.Helper()
	var all []string
	for i, p := range must.Get(db.Line(t.Context(), "t"))(t) {
		all = append(all, strings.TrimSpace(strings.Join([]string{p.Run, p.Status, p.Wish}, " ")))
		if i > 0 {
			continue
		}
		if front := must.Get(db.Front(t.Context(), "t"))(t); front != p {
			t.Errorf("%+v is at the front, want %+v", front, p)
		}
	}
	if _, err := db.Front(t.Context(), "t"); len(all) == 0 && !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the front of an empty line: %v", err)
	}
	return strings.Join(all, ", ") + ": " + must.Get(db.Thread(t.Context(), "t"))(t).Status
}

// LinesMoveWithTheirRuns: who is in line and who is first changes with the batches that make and end runs,
// and so does the status of the thread.
func (s suite) LinesMoveWithTheirRuns(t *testing.T) {
	db := s.open(t)
	now := time.Now()
	made := 0
	start := func(id, strategy string, change func(*store.Batch)) store.Batch {
		made++
		b := store.Batch{ThreadID: "t", NewRun: true, Line: &store.Line{Strategy: strategy},
			Run: &store.Run{ID: id, ThreadID: "t", Status: "pending",
				CreatedAt: now.Add(time.Duration(made) * time.Second)}}
		if change != nil {
			change(&b)
		} else {
			busy := "busy"
			b.Patch = &store.ThreadPatch{Status: &busy}
		}
		return b
	}
	is := func(id, status string) store.Batch {
		return store.Batch{ThreadID: "t", Run: &store.Run{ID: id, ThreadID: "t", Status: status},
			Line: &store.Line{Rest: "interrupted"}}
	}
	hold := func(b *store.Batch) { b.Line.Hold = true }
	later := func(b *store.Batch) { b.Run.DueAt = now.Add(time.Hour) }
	well := is("k", "success")
	well.Line = &store.Line{Rest: "idle", Promote: true}
	for i, c := range []struct {
		b    store.Batch
		err  error
		want string
	}{
		{b: store.Batch{Thread: &store.Thread{ID: "t"}}, want: ": idle"},
		{b: start("a", "reject", nil), want: "a pending: busy"},
		{b: start("b", "reject", nil), err: store.ErrBusy, want: "a pending: busy"},
		{b: start("late", "reject", later), err: store.ErrBusy, want: "a pending: busy"},
		{b: is("a", "running"), want: "a running: busy"},
		{b: start("b", "enqueue", nil), want: "a running, b pending: busy"},
		{b: start("c", "enqueue", nil), want: "a running, b pending, c pending: busy"},
		{b: store.Batch{ThreadID: "t", Run: &store.Run{ID: "child", ThreadID: "t", Parent: "a", Status: "running"}},
			want: "a running, b pending, c pending: busy"},
		{b: is("b", "interrupted"), want: "a running, c pending: busy"},
		{b: start("a", "interrupt", nil), err: store.ErrExists, want: "a running, c pending: busy"},
		{b: start("d", "interrupt", later), want: "a running, c pending: busy"},
		{b: start("e", "interrupt", hold), want: "a running, c pending: busy"},
		{b: start("f", "interrupt", nil), want: "a running interrupt, c pending interrupt, f pending: busy"},
		{b: store.Batch{ThreadID: "t", Line: &store.Line{Enter: "d", Strategy: "rollback"}},
			want: "a running rollback, c pending rollback, f pending rollback, d pending: busy"},
		{b: store.Batch{ThreadID: "t", Line: &store.Line{Enter: "d"}}, err: store.ErrNotFound,
			want: "a running rollback, c pending rollback, f pending rollback, d pending: busy"},
		{b: store.Batch{ThreadID: "t", Delete: &store.Delete{Runs: []string{"a", "f"}}},
			want: "c pending rollback, d pending: busy"},
		{b: is("c", "success"), want: "d pending: busy"}, // e stays: another run is in line
		{b: is("d", "success"), want: ": interrupted"},
		{b: start("g", "enqueue", hold), want: "g pending: busy"},
		{b: start("h", "enqueue", hold), want: "g pending: busy"},
		{b: is("g", "error"), want: ": interrupted"},
		{b: start("k", "enqueue", nil), want: "k pending: busy"},
		{b: well, want: "e pending: busy"},
		{b: is("e", "success"), want: ": interrupted"},
		{b: store.Batch{ThreadID: "t", Line: &store.Line{AsHead: true}}, want: ": idle"},
		{b: store.Batch{ThreadID: "t", Line: &store.Line{AsHead: true}, Patch: &store.ThreadPatch{Head: new("x")},
			Checkpoints: []store.Checkpoint{{ID: "x", Next: []string{"tools"}}}}, want: ": interrupted"},
		{b: store.Batch{ThreadID: "t", Line: &store.Line{AsHead: true}, Patch: &store.ThreadPatch{Head: new("y")},
			Checkpoints: []store.Checkpoint{{ID: "y"}}}, want: ": idle"},
	} {
		if err := db.Commit(t.Context(), c.b); !errors.Is(err, c.err) {
			t.Errorf("step %d: %v, want %v", i, err, c.err)
		}
		if got := lineOf(t, db); got != c.want {
			t.Errorf("step %d: %s, want %s", i, got, c.want)
		}
	}
	if held := must.Get(db.HeldRuns(t.Context(), "t"))(t); len(held) != 1 || held[0].ID != "h" {
		t.Errorf("held: %+v", held)
	}
	checkClean(t, db)
}

// WhoComesFirstIsTold to who makes the run, so that it need not be asked.
func (s suite) WhoComesFirstIsTold(t *testing.T) {
	db := s.open(t)
	commit(t, db, store.Batch{Thread: &store.Thread{ID: "t"}})
	for i, c := range []struct {
		change func(*store.Batch)
		first  bool
	}{
		{change: func(b *store.Batch) { b.Run.DueAt = time.Now().Add(time.Hour) }},
		{change: func(b *store.Batch) { b.Line.Hold = true }, first: true},
		{change: func(b *store.Batch) { b.Line.Hold = true }},
		{change: func(b *store.Batch) { b.Line.Strategy = "interrupt" }},
		{change: func(b *store.Batch) { b.ThreadID, b.Run.ThreadID = "u", "u"; b.Thread = &store.Thread{ID: "u"} },
			first: true},
	} {
		first := !c.first
		id := fmt.Sprint("run ", i)
		b := store.Batch{ThreadID: "t", NewRun: true, Line: &store.Line{First: &first},
			Run: &store.Run{ID: id, ThreadID: "t", Status: "pending"}}
		c.change(&b)
		commit(t, db, b)
		front, err := db.Front(t.Context(), b.ThreadID)
		if first != c.first || first != (err == nil && front.Run == id) {
			t.Errorf("%s is first: %v, and at the front is %+v, %v", id, first, front, err)
		}
	}
}

// DueRunsAreFound in the order in which they are due.
func (s suite) DueRunsAreFound(t *testing.T) {
	db := s.open(t)
	at := time.UnixMilli(1_700_000_000_000).UTC()
	commit(t, db, store.Batch{Thread: &store.Thread{ID: "t"}})
	for i, id := range []string{"third", "first", "second", "fourth"} {
		due := at.Add([]time.Duration{2, 0, 1, 9}[i] * time.Second)
		commit(t, db, store.Batch{Run: &store.Run{ID: id, ThreadID: "t", Status: "pending", DueAt: due}, NewRun: true})
	}
	for _, c := range []struct {
		until time.Duration
		limit int
		want  string
		next  time.Time
	}{
		{-1, 9, "", at},
		{1, 9, "first second", at.Add(2 * time.Second)},
		{1, 1, "first", at.Add(time.Second)}, // look again at once
		{9, 9, "first second third fourth", time.Time{}},
	} {
		list, next, err := db.DueRuns(t.Context(), at.Add(c.until*time.Second), c.limit)
		ids := make([]string, len(list))
		for i, r := range list {
			ids[i] = r.ID
		}
		if got := strings.Join(ids, " "); err != nil || got != c.want || !next.Equal(c.next) {
			t.Errorf("until %d: %q and then %v, want %q and %v; %v", c.until, got, next, c.want, c.next, err)
		}
	}
	if list := must.Get(db.DelayedRuns(t.Context(), "t"))(t); len(list) != 4 || list[3].ID != "fourth" {
		t.Errorf("delayed: %+v", list)
	}
	checkClean(t, db)
}

// TestLinesOfOlderRunsAreMadeUp: a database from before they were stored has them in the order in which
// runs were made.
func TestLinesOfOlderRunsAreMadeUp(t *testing.T) {
	dir := t.TempDir()
	script := ""
	for _, thread := range []string{"t", "u"} {
		script += fmt.Sprintf(`INSERT INTO thread(id, status, title, metadata, config, head, created_at, updated_at,
			state_updated_at) VALUES ('%s', 'busy', '', '{}', '{}', '', 1, 1, 1);`, thread)
	}
	now := time.Now().UnixMilli()
	for i, r := range []struct{ thread, id, status, parent, kwargs string }{
		{"t", "ended", "success", "", "{}"}, {"t", "early", "pending", "", "{}"}, {"t", "active", "running", "", "{}"},
		{"t", "child", "running", "active", "{}"}, {"t", "held", "pending", "", `{"hold":true}`},
		{"t", "later", "pending", "", `{"after_seconds":60.5}`}, {"t", "last", "pending", "", "{}"},
		{"u", "due", "pending", "", `{"after_seconds":0.0001}`}, {"u", "other", "pending", "", "{}"},
	} {
		script += fmt.Sprintf(`INSERT INTO run(id, thread, assistant, status, multitask, stop_reason, error, base_checkpoint,
			metadata, kwargs, usage, first_seq, last_seq, attempt, created_at, updated_at, parent, held)
			VALUES ('%s', '%s', 'a', '%s', 'enqueue', '', '', '', '{}', '%s', '{}', 0, 0, 1, %d, 1, '%s', %d);`, r.id,
			r.thread, r.status, r.kwargs, now+int64(i)-1000, r.parent, strings.Count(r.kwargs, "hold"))
	}
	must.Do(t, store.MadeBy(t.Context(), dir, 17, script))
	db := openAt(t, dir)
	same(t, "line", lineOf(t, db), "active running, early pending, last pending: busy")
	same(t, "front of the other", must.Get(db.Front(t.Context(), "u"))(t).Run, "due")
	late := must.Get(db.DelayedRuns(t.Context(), "t"))(t)
	if len(late) != 1 || late[0].ID != "later" || late[0].DueAt.Sub(late[0].CreatedAt) != 60_500*time.Millisecond {
		t.Errorf("delayed: %+v", late)
	}
	checkClean(t, db)
}

// TestLinesInDisorderAreFoundAndMended.
func TestLinesInDisorderAreFoundAndMended(t *testing.T) {
	dir := t.TempDir()
	db := openAt(t, dir)
	commit(t, db, store.Batch{Thread: &store.Thread{ID: "t"}})
	for _, id := range []string{"a", "b", "c"} {
		commit(t, db, store.Batch{Run: &store.Run{ID: id, ThreadID: "t", Status: "pending"}, NewRun: true})
	}
	must.Do(t, db.Close())
	must.Do(t, store.MadeBy(t.Context(), dir, store.Schema(), `UPDATE run SET status = 'success' WHERE id = 'a'`))
	db = openAt(t, dir)
	found := strings.Join(must.Get(db.Check(t.Context()))(t), "\n")
	if !strings.Contains(found, "Run a of thread t is success and stands in line at 1") {
		t.Errorf("found: %s", found)
	}
	must.Get(db.Repair(t.Context()))(t)
	checkClean(t, db)
	same(t, "front", must.Get(db.Front(t.Context(), "t"))(t).Run, "b")
}

// RunsAtTheFrontHaveAServer: the one whose batch brought them there, or that has taken them over.
func (s suite) RunsAtTheFrontHaveAServer(t *testing.T) {
	db, ctx := s.open(t), t.Context()
	commit(t, db, store.Batch{Thread: &store.Thread{ID: "t"}})
	for _, id := range []string{"a", "b"} {
		commit(t, db, store.Batch{Run: &store.Run{ID: id, ThreadID: "t", Status: "pending"}, NewRun: true})
	}
	nodes := func() (list []int64) {
		for _, p := range must.Get(db.Line(ctx, "t"))(t) {
			list = append(list, p.Node)
		}
		return list
	}
	me, another := db.Self(), db.Self()+7
	same(t, "a run that waits has none", nodes(), []int64{me, 0})
	commit(t, db, store.Batch{Run: &store.Run{ID: "a", ThreadID: "t", Status: "success"}})
	same(t, "the next one", nodes(), []int64{me})
	must.Do(t, db.GiveAway(ctx, "b", another))
	must.Do(t, db.TakeOver(ctx))
	same(t, "taken over", nodes(), []int64{me})
	commit(t, db, store.Batch{Run: &store.Run{ID: "b", ThreadID: "t", Status: "success"}})
	checkClean(t, db)
}
