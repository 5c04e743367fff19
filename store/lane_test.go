package store_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/store"
)

// texts is the tail as thread -> "seq:data" list.
func texts(t testing.TB, db *store.DB) map[string][]string {
	t.Helper()
	got := map[string][]string{}
	for thread, deltas := range must.Get(db.Tail(context.Background()))(t) {
		for _, d := range deltas {
			if d.Thread != thread {
				t.Errorf("delta of %s is listed under %s", d.Thread, thread)
			}
			got[thread] = append(got[thread], fmt.Sprintf("%d:%s", d.Seq, d.Data))
		}
	}
	return got
}

func flush(t testing.TB, l *store.Lane) {
	t.Helper()
	must.Do(t, l.Flush(context.Background()))
}

func (s suite) UnfoldedDeltasSurviveAndFoldedDoNot(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	db := s.openAt(t, dir)
	newThread(t, db, "a")
	newThread(t, db, "b")
	var durable atomic.Int64
	a := db.OpenLane("a", func(seq int64) { durable.Store(seq) })
	b := db.OpenLane("b", nil)
	a.Append(1, []byte("one"))
	b.Append(1, []byte("uno"))
	a.Append(2, []byte("two"))
	flush(t, a)
	same(t, "durable after flush", durable.Load(), int64(2))
	a.Append(3, []byte("three"))
	commit(t, a, store.Batch{ThreadID: "a", Events: []store.Event{{Seq: 1, To: 5, Kind: "text"}}})
	same(t, "durable after the fold", durable.Load(), int64(5))
	a.Append(6, []byte("six"))
	b.Append(2, nil)
	a.Close()
	b.Close()

	db = s.reopen(t, db, dir)
	same(t, "next of a before the tail is read", must.Get(db.Standing(ctx, "a"))(t).Next, int64(0))
	same(t, "tail", texts(t, db), map[string][]string{"a": {"6:six"}, "b": {"1:uno", "2:"}})
	same(t, "next of a", must.Get(db.Standing(ctx, "a"))(t).Next, int64(7))
	same(t, "last of a", must.Get(db.LastSeq(ctx, "a"))(t), int64(6))
	same(t, "last of b", must.Get(db.LastSeq(ctx, "b"))(t), int64(2))
	commit(t, db, store.Batch{ThreadID: "b", Events: []store.Event{{Seq: 1, To: 2}}})
	same(t, "tail after b is folded", texts(t, db), map[string][]string{"a": {"6:six"}})
	must.Do(t, db.ClearTail(ctx))
	same(t, "tail after clearing", texts(t, db), map[string][]string{})
	same(t, "rows after clearing", must.Get(db.FrameRows(ctx))(t), 0)
}

func (s suite) ClearTailKeepsWhatIsNew(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	db := s.openAt(t, dir)
	newThread(t, db, "a")
	l := db.OpenLane("a", nil)
	l.Append(1, []byte("old"))
	db = s.reopen(t, db, dir)
	l = db.OpenLane("a", nil)
	l.Append(2, []byte("new"))
	flush(t, l)
	must.Do(t, db.ClearTail(ctx))
	same(t, "tail", texts(t, db), map[string][]string{"a": {"2:new"}})
}

func (s suite) GarbageOfTheTailIsDeletedWhileOtherLanesAreOpen(t *testing.T) {
	ctx, db := t.Context(), s.open(t)
	newThread(t, db, "a")
	newThread(t, db, "slow")
	a, slow := db.OpenLane("a", nil), db.OpenLane("slow", nil)
	rows := func() int64 { return must.Get(db.Count(ctx, "SELECT count(*) FROM tail"))(t) }
	seq := int64(0)
	step := func(n int) {
		for range n {
			seq++
			a.Append(seq, []byte("x"))
			flush(t, a)
		}
		commit(t, a, store.Batch{ThreadID: "a", Events: []store.Event{{Seq: seq - int64(n) + 1, To: seq}}})
	}
	step(300)
	step(64) // garbage is looked for every 64 rows
	step(1)
	if n := rows(); n > 70 {
		t.Errorf("%d rows after 300 were folded", n)
	}
	slow.Append(1, []byte("keep me"))
	flush(t, slow)
	step(600) // more positions than are remembered one by one
	step(1)
	if n := rows(); n < 600 {
		t.Errorf("%d rows: an open lane's row was deleted", n)
	}
	same(t, "tail", texts(t, db), map[string][]string{"slow": {"1:keep me"}})
	commit(t, slow, store.Batch{ThreadID: "slow", Events: []store.Event{{Seq: 1}}})
	step(64)
	step(1)
	if n := rows(); n > 70 {
		t.Errorf("%d rows after the slow lane was folded", n)
	}
	if n := db.Remembered(); n > 2 {
		t.Errorf("%d threads remembered", n)
	}
}

func (s suite) QuietStoreEmptiesItsTail(t *testing.T) {
	ctx, db := t.Context(), s.open(t)
	newThread(t, db, "a")
	l := db.OpenLane("a", nil)
	l.Append(1, []byte("x"))
	commit(t, l, store.Batch{ThreadID: "a", Events: []store.Event{{Seq: 1}}})
	l.Close()
	last := int64(0) // the last row, if it stays
	if db.Shared() {
		last = 1
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if rows := must.Get(db.Count(ctx, "SELECT count(*) FROM tail"))(t); rows <= last && int64(db.Remembered()) <= last {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the tail still has rows after a minute")
		}
	}
}

func (s suite) DeletedThreadTakesItsDeltasAlong(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	db := s.openAt(t, dir)
	for _, id := range []string{"old", "other"} {
		newThread(t, db, id)
		l := db.OpenLane(id, nil)
		l.Append(1, []byte(id))
		flush(t, l)
		l.Append(2, []byte("late"))
		l.Close()
	}
	commit(t, db, store.Batch{ThreadID: "old", Delete: &store.Delete{Thread: true}})
	newThread(t, db, "old")
	same(t, "last", must.Get(db.LastSeq(ctx, "old"))(t), int64(0))
	db = s.reopen(t, db, dir)
	same(t, "tail", texts(t, db), map[string][]string{"other": {"1:other", "2:late"}})
	commit(t, db, store.Batch{ThreadID: "other", Delete: &store.Delete{Thread: true}})
	newThread(t, db, "other")
	same(t, "tail of the process before", texts(t, db), map[string][]string{})
}

func (s suite) RolledBackDeltasStayGone(t *testing.T) {
	dir := t.TempDir()
	db := s.openAt(t, dir)
	newThread(t, db, "a")
	l := db.OpenLane("a", nil)
	l.Append(1, []byte("x"))
	commit(t, l, store.Batch{ThreadID: "a", Events: []store.Event{{Seq: 1, To: 1}}})
	l.Append(2, []byte("y"))
	commit(t, l, store.Batch{ThreadID: "a", Delete: &store.Delete{EventsFrom: 1, EventsTo: 2}})
	db = s.reopen(t, db, dir)
	same(t, "tail", texts(t, db), map[string][]string{})
}

func (s suite) AppendNeverWaitsAndWaitDoes(t *testing.T) {
	ctx, db := t.Context(), s.open(t)
	newThread(t, db, "a")
	l := db.OpenLane("a", nil)
	entered, release := db.Hold(ctx)
	<-entered
	for seq := range int64(100) {
		l.Append(seq+1, make([]byte, 1000))
	}
	if err := l.Wait(ctx, 200_000); err != nil {
		t.Errorf("below the limit: %v", err)
	}
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	if err := l.Wait(short, 50_000); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("above the limit: %v", err)
	}
	release()
	must.Report(t, l.Wait(ctx, 0))
	same(t, "frames", len(texts(t, db)["a"]), 100)
}

func (s suite) CommitsOfOneGroupKeepTheirOrder(t *testing.T) {
	ctx, db := t.Context(), s.open(t)
	newThread(t, db, "a")
	entered, release := db.Hold(ctx)
	<-entered
	l := db.OpenLane("a", nil)
	var wg sync.WaitGroup
	first, second := make(chan error, 1), make(chan error, 1)
	l.Append(1, []byte("x"))
	// fails alone
	wg.Go(func() { first <- l.Commit(ctx, store.Batch{ThreadID: "nothing", Patch: &store.ThreadPatch{}}) })
	wg.Go(func() { second <- l.Commit(ctx, store.Batch{ThreadID: "a", Events: []store.Event{{Seq: 1}}}) })
	for range 50 {
		l.Append(2, []byte("y"))
	}
	release()
	wg.Wait()
	if err := <-first; !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the faulty batch: %v", err)
	}
	if err := <-second; err != nil {
		t.Errorf("its neighbour: %v", err)
	}
	flush(t, l)
	for _, s := range texts(t, db)["a"] {
		if s != "2:y" {
			t.Errorf("folded frame %s is still in the tail", s)
		}
	}
}

func (s suite) GreatQueuesAreSplitInOrder(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	db := s.openAt(t, dir)
	newThread(t, db, "a")
	entered, release := db.Hold(ctx)
	<-entered
	var told []int64
	l := db.OpenLane("a", func(seq int64) { told = append(told, seq) }) // writer goroutine only, read after Flush
	const n = 10_000
	for seq := range int64(n) {
		l.Append(seq+1, []byte("0123456789"))
	}
	release()
	flush(t, l)
	if len(told) < 3 || told[len(told)-1] != n {
		t.Errorf("told %v", told)
	}
	for i := 1; i < len(told); i++ {
		if told[i] <= told[i-1] {
			t.Errorf("told %v", told)
		}
	}
	got := must.Get(db.Tail(ctx))(t)["a"]
	same(t, "frames", len(got), n)
	for i, d := range got {
		if d.Seq != int64(i+1) {
			t.Fatalf("frame %d has number %d", i, d.Seq)
		}
	}
}

func TestDroppedEventsAreCalledDurable(t *testing.T) {
	db := must.Get(store.Open(t.Context(), store.Config{Dir: t.TempDir(), NoEvents: true}))(t)
	defer db.Close()
	newThread(t, db, "a")
	var durable atomic.Int64
	l := db.OpenLane("a", func(seq int64) { durable.Store(seq) })
	l.Append(7, []byte("x"))
	flush(t, l)
	same(t, "durable", durable.Load(), int64(7))
	commit(t, l, store.Batch{ThreadID: "a", Events: []store.Event{{Seq: 8, To: 9}}})
	same(t, "durable", durable.Load(), int64(9))
	same(t, "tail", texts(t, db), map[string][]string{})
	same(t, "events", must.Get(db.Events(t.Context(), "a", 0, 0, 0))(t), []store.Event{})
}

func (s suite) LanesAndReadersTogether(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	db := s.openAt(t, dir)
	const lanes, steps, deltas = 8, 20, 15
	for i := range lanes {
		newThread(t, db, fmt.Sprint("t", i))
	}
	stop := make(chan struct{})
	var readers, writers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				id := fmt.Sprint("t", i%lanes)
				snap, err := db.Snapshot(ctx, id, "")
				if err != nil && !errors.Is(err, store.ErrNotFound) {
					t.Error(err)
					return
				}
				if n := len(snap.Messages); n > 0 && snap.Checkpoint.Card.Messages[0].To != int64(n) {
					t.Errorf("card and rows differ: %d rows for %v", n, snap.Checkpoint.Card)
				}
				if _, _, err := db.Threads(ctx, store.ThreadQuery{Limit: 3}); err != nil {
					t.Error(err)
				}
				must.Try(db.LastSeq(ctx, id))(t)
			}
		})
	}
	for i := range lanes {
		writers.Go(func() {
			id := fmt.Sprint("t", i)
			var durable atomic.Int64
			l := db.OpenLane(id, func(seq int64) { durable.Store(seq) })
			defer l.Close()
			seq, parent := int64(0), ""
			for s := range int64(steps) {
				from := seq + 1
				for range deltas {
					seq++
					l.Append(seq, []byte("some text"))
					must.Report(t, l.Wait(ctx, 64))
				}
				head := fmt.Sprintf("c%03d", s)
				must.Report(t, l.Commit(ctx, store.Batch{ThreadID: id, Patch: &store.ThreadPatch{Head: &head, Touch: true},
					Messages: []store.MessageRow{{s + 1, head, []byte(`{}`)}},
					Checkpoints: []store.Checkpoint{{ID: head, Parent: parent,
						Card: store.Card{Messages: []store.Range{{1, s + 1}}}}},
					Events: []store.Event{{Seq: from, To: seq}}}))
				if durable.Load() != seq {
					t.Errorf("durable %d after the step that ends at %d", durable.Load(), seq)
				}
				parent = head
			}
		})
	}
	writers.Wait()
	close(stop)
	readers.Wait()
	same(t, "tail", texts(t, db), map[string][]string{})
	checkClean(t, db)
}

// The bubble fails the test when a goroutine outlives Close.
func TestCloseLeavesNoGoroutine(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		db := must.Get(store.Open(context.Background(), store.Config{Dir: dir}))(t)
		must.Do(t, db.Close())
	})
}
