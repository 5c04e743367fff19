package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/store/commit"
	"fawn/store/pgtest"
	"fawn/store/postgres"
)

// openTwo opens two servers that share a database.
func openTwo(t *testing.T, url string) (a, b *DB) {
	t.Helper()
	a = openAt(t, Config{URL: url, Cluster: true})
	return a, beside(t, a)
}

// beside opens another server beside one, which may want to read what is in its tail: no housekeeping takes that away
// where the test stands still for a moment.
func beside(t *testing.T, db *DB) *DB {
	t.Helper()
	other := openAt(t, Config{URL: db.cfg.URL, Cluster: true})
	for _, db := range []*DB{db, other} {
		db.engine.(*postgres.Engine).Lease.Others.Store(1) // as the next renewal would find out
	}
	return other
}

// seqs are the numbers of frames, by thread.
func seqs(t *testing.T, tail map[string][]Delta, err error) map[string][]int64 {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]int64{}
	for thread, deltas := range tail {
		for _, d := range deltas {
			out[thread] = append(out[thread], d.Seq)
		}
	}
	return out
}

func wantSeqs(t *testing.T, what string, got map[string][]int64, want string) {
	t.Helper()
	if fmt.Sprint(got) != want {
		t.Errorf("%s: %v, want %s", what, got, want)
	}
}

// TestTheTailsOfServersAreTheirOwn: nobody takes up what another one is writing, somebody what one has left, and its
// rows are there until all of it is taken up.
func TestTheTailsOfServersAreTheirOwn(t *testing.T) {
	ctx := t.Context()
	a, b := openTwo(t, pgtest.URL(t))
	for _, id := range []string{"of a", "of b", "ended"} {
		must.Do(t, a.Commit(ctx, Batch{Thread: &Thread{ID: id}}))
	}
	say := func(db *DB, thread string, seqs ...int64) {
		t.Helper()
		l := db.OpenLane(thread, nil)
		defer l.Close()
		for _, seq := range seqs {
			l.Append(seq, []byte("x"))
			must.Do(t, l.Flush(ctx))
		}
	}
	must.Do(t, b.Commit(ctx, Batch{ThreadID: "of b", NewRun: true,
		Run: &Run{ID: "run", ThreadID: "of b", Status: "running"}}))
	say(a, "of a", 1)
	say(b, "of b", 1, 2)
	say(b, "ended", 1)
	tail, err := a.Tail(ctx)
	wantSeqs(t, "what a would take up", seqs(t, tail, err), "map[of a:[1]]")
	tail, err = a.LeftTail(ctx)
	wantSeqs(t, "what is left while all live", seqs(t, tail, err), "map[]")
	must.Do(t, a.ClearTail(ctx))

	number := b.w.node
	must.Do(t, b.Close())
	tail, err = a.LeftTail(ctx)
	wantSeqs(t, "what b has left", seqs(t, tail, err), "map[ended:[1] of b:[1 2]]")
	if last, err := a.LastSeq(ctx, "of b"); err != nil || last != 2 {
		t.Errorf("last number %d: %v", last, err)
	}
	left := func() int64 {
		n := must.Get(a.Count(ctx, `SELECT count(*) FROM tail WHERE tail_node(id) = ?`, number))(t)
		return n
	}
	before := left()
	must.Do(t, a.ClearTail(ctx))
	if n := left(); n < 3 || n >= before { // the two, and what comes behind
		t.Errorf("%d of %d rows are left while a run waits to be taken up", n, before)
	}
	must.Do(t, a.Commit(ctx, Batch{ThreadID: "of b", Events: []Event{{Seq: 1, To: 2}}}))
	must.Do(t, a.ClearTail(ctx))
	if n := left(); n > 0 {
		t.Errorf("%d rows are left that nobody needs", n)
	}
	tail, err = a.Tail(ctx)
	wantSeqs(t, "what a has itself", seqs(t, tail, err), "map[of a:[1]]")
}

// TestEachGroupHasARow: in order and without holes, with what it says and what is folded by then.
func TestEachGroupHasARow(t *testing.T) {
	ctx := t.Context()
	var groups atomic.Int64 // on a slow machine pieces may be written before somebody waits for them
	url := pgtest.URL(t)
	db := openAt(t, Config{URL: url, Cluster: true, Committed: func(time.Duration, error) { groups.Add(1) }})
	beside(t, db)
	l := db.OpenLane("t", nil)
	defer l.Close()
	bad := Batch{ThreadID: "t", Events: []Event{{Seq: 3, To: 3}}} // is there by then
	for _, do := range []func() error{
		func() error { return db.Commit(ctx, Batch{Thread: &Thread{ID: "t"}}) },
		func() error { l.Append(1, []byte("x")); l.Append(2, []byte("y")); return l.Flush(ctx) },
		func() error {
			l.Append(3, []byte("z"))
			return l.Commit(ctx, Batch{ThreadID: "t", Events: []Event{{Seq: 1, To: 3}}})
		},
		func() error {
			if err := l.Commit(ctx, bad); !errors.Is(err, ErrConflict) {
				return fmt.Errorf("written twice: %w", err)
			}
			return nil
		},
		func() error { return db.Commit(ctx, Batch{ThreadID: "t", Delete: &Delete{Thread: true}}) },
	} {
		must.Do(t, do())
	}
	want := []int64{}
	for i := range groups.Load() {
		want = append(want, db.w.Span.First+i)
	}
	if len(want) < 5 {
		t.Errorf("%d groups were written", len(want))
	}
	var got []int64
	var said []string
	rows, err := connectTo(t, url).Query(ctx, `SELECT id, data FROM tail WHERE id < $1 ORDER BY id`, db.w.Span.End)
	for err == nil && rows.Next() {
		var id int64
		var b []byte
		if err = rows.Scan(&id, &b); err != nil {
			break
		}
		text := ""
		for len(b) > 0 {
			thread, seq, data, rest, err := commit.NextFrame(b)
			if err != nil {
				t.Fatal(err)
			}
			if len(thread) == 0 {
				if thread, seq, _, _, err = commit.NextFrame(data); err != nil {
					t.Fatal(err)
				}
				data = []byte("folded")
			}
			text += fmt.Sprintf("%s%d=%s ", thread, seq, data)
			b = rest
		}
		got = append(got, id)
		if text != "" { // the thread's frames went with it
			said = append(said, text)
		}
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("rows %v, want %v: %v", got, want, err)
	}
	if s := fmt.Sprintf("%q", said); s != `["t3=folded " "t9223372036854775807=folded "]` {
		t.Errorf("they say %s", s)
	}
}

// TestARunSaysFromWhereItIsInTheTail, also when another server takes it over.
func TestARunSaysFromWhereItIsInTheTail(t *testing.T) {
	ctx := t.Context()
	a, b := openTwo(t, pgtest.URL(t))
	must.Do(t, a.Commit(ctx, Batch{Thread: &Thread{ID: "t"}}))
	from := func(db *DB) int64 {
		t.Helper()
		n, err := a.Count(ctx, `SELECT tail_from FROM run WHERE id = 'run'`)
		if err != nil || n < db.w.Span.First || n >= db.w.Span.End {
			t.Fatalf("from row %d of %+v: %v", n, db.w.Span, err)
		}
		return n
	}
	run := Run{ID: "run", ThreadID: "t", Status: "running"}
	must.Do(t, a.Commit(ctx, Batch{ThreadID: "t", NewRun: true, Run: &run}))
	began := from(a)
	l := a.OpenLane("t", nil)
	defer l.Close()
	l.Append(1, []byte("x"))
	must.Do(t, l.Commit(ctx, Batch{ThreadID: "t", Run: &run}))
	if n, err := a.Count(ctx, `SELECT max(id) FROM tail`); err != nil || n <= began || from(a) != began {
		t.Errorf("it began at row %d, spoke at %d, and now begins at %d: %v", began, n, from(a), err)
	}
	must.Do(t, b.Commit(ctx, Batch{Thread: &Thread{ID: "other"}}))
	must.Do(t, b.GiveAway(context.WithoutCancel(ctx), "run", b.w.node))
	from(b)
}
