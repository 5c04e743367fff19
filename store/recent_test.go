package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/store"
	"fawn/web/e2e/gate"
)

// A turn that is taken back and asked again gives new numbers to its messages. Whoever reads
// meanwhile sees one of the two, and never one message with the other's checkpoint.
func (s suite) RowsKeptInMemoryAreThoseOfTheFile(t *testing.T) {
	db := s.open(t)
	newThread(t, db, "t")
	row := func(n int64, turn int) store.MessageRow {
		return store.MessageRow{N: n, ID: fmt.Sprint("m", turn, "-", n),
			Body: fmt.Appendf(nil, `{"n":%d,"turn":%d}`, n, turn)}
	}
	ctx, cancel := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	id := func(step int) string { return fmt.Sprintf("c%06d", step) }
	var numbers []int64
	top := int64(0)
	// write replaces the head by a checkpoint of 40 messages, or of those before a place; those
	// behind it are new, or taken back.
	write := func(step, keep, all int) {
		b := store.Batch{ThreadID: "t", Delete: &store.Delete{}}
		if keep == all && keep < len(numbers) {
			b.Delete.MessagesFrom = numbers[keep]
		}
		numbers = numbers[:keep]
		for len(numbers) < all {
			top++
			numbers = append(numbers, top)
			b.Messages = append(b.Messages, row(top, step))
		}
		var card store.Card
		for _, n := range numbers {
			card.Messages = append(card.Messages, store.Range{From: n, To: n})
		}
		cp := store.Checkpoint{ID: id(step), Thread: "t", Step: step, Source: "loop", Card: card, At: at}
		head := cp.ID
		b.Patch, b.Checkpoints = &store.ThreadPatch{Head: &head}, []store.Checkpoint{cp}
		if step > 0 {
			b.Delete.Checkpoints = []string{id(step - 1)}
		}
		commit(t, db, b)
	}
	write(0, 0, 40)
	defer func() { cancel(); readers.Wait() }()
	for range 4 {
		readers.Go(func() {
			for ctx.Err() == nil {
				snap, err := db.Snapshot(context.Background(), "t", "")
				if err != nil {
					t.Error(err)
					return
				}
				if snap.Checkpoint.Step%2 == 1 { // only took some back
					continue
				}
				newest := fmt.Sprintf(`"turn":%d}`, snap.Checkpoint.Step)
				if got := string(snap.Messages[len(snap.Messages)-1].Body); len(snap.Messages) != 40 ||
					!strings.HasSuffix(got, newest) {
					t.Errorf("%d messages in step %d, the last is %s", len(snap.Messages), snap.Checkpoint.Step, got)
					return
				}
			}
		})
	}
	for step := 1; step <= gate.Pick(200, 600, 600); step += 2 {
		keep := 1 + step*7%39
		write(step, keep, keep)
		write(step+1, keep, 40)
		if step%50 == 1 {
			db.Rest()
		}
	}
	kept, read := must.Get(db.Snapshot(t.Context(), "t", ""))(t), must.Get(db.Snapshot(t.Context(), "t", ""))(t)
	db.ForgetRows()
	same(t, "rows of the file", must.Get(db.Snapshot(t.Context(), "t", ""))(t), kept)
	same(t, "rows", read, kept)
}

func (s suite) RowsOfADeletedThreadAreForgotten(t *testing.T) {
	db := s.open(t)
	card := store.Card{Messages: []store.Range{{From: 1, To: 2}}}
	for _, body := range []string{"one", "two"} {
		newThread(t, db, "t")
		commit(t, db,
			store.Batch{ThreadID: "t", Messages: []store.MessageRow{{1, "a", []byte(body)}, {2, "b", []byte(body)}}})
		for range 2 {
			snap := must.Get(db.SnapshotOf(t.Context(), store.Checkpoint{Thread: "t", Card: card}))(t)
			same(t, "messages", snap.Messages, []store.MessageRow{{1, "a", []byte(body)}, {2, "b", []byte(body)}})
		}
		commit(t, db, store.Batch{ThreadID: "t", Delete: &store.Delete{Thread: true}})
		_, err := db.SnapshotOf(t.Context(), store.Checkpoint{Thread: "t", Card: card})
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a deleted thread: %v", err)
		}
	}
}

// A reader of several checkpoints has what readers of each have, also when another thread takes the place of its own.
func (s suite) AHistoryIsItsSnapshots(t *testing.T) {
	db := s.open(t)
	h := db.History()
	for _, body := range []string{`"one"`, `"two"`} {
		newThread(t, db, "t")
		for n := range int64(3) {
			title, head := max(n, 1), fmt.Sprint("c", n)
			b := store.Batch{ThreadID: "t", Messages: []store.MessageRow{{n + 1, fmt.Sprint("m", n), []byte(body)}},
				Patch: &store.ThreadPatch{Head: &head}, Checkpoints: []store.Checkpoint{{ID: head, Step: int(n), Source: "loop",
					At: at, Card: store.Card{Messages: []store.Range{{From: 1, To: n + 1}},
						Fields: map[string]int64{"title": title, "goal": 1}}}}}
			if n == 0 {
				b.Fields = append(b.Fields, store.FieldRow{Name: "goal", Version: 1, Body: []byte(body)})
			}
			if n == 0 || n == 2 {
				b.Fields = append(b.Fields, store.FieldRow{Name: "title", Version: title, Body: []byte(body)})
			}
			commit(t, db, b)
		}
		list := must.Get(db.Checkpoints(t.Context(), "t", "", "", 0, nil))(t)
		same(t, "checkpoints", len(list), 3)
		for _, cp := range list {
			same(t, "snapshot "+cp.ID, must.Get(h.SnapshotOf(t.Context(), cp))(t), must.Get(db.SnapshotOf(t.Context(), cp))(t))
			for name, version := range cp.Card.Fields {
				same(t, name, string(must.Get(h.Field(t.Context(), "t", name, version))(t)), body)
			}
			same(t, "message", must.Get(h.Message(t.Context(), "t", 1))(t), store.MessageRow{1, "m0", []byte(body)})
		}
		if _, err := h.Field(t.Context(), "t", "title", 9); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("no such version: %v", err)
		}
		commit(t, db, store.Batch{ThreadID: "t", Delete: &store.Delete{Thread: true}})
	}
}

// TestMessageNumbersAreNeverGivenTwice, also after a rollback, with and without a patch, in a
// copy, and in a database from before they were counted.
func TestMessageNumbersAreNeverGivenTwice(t *testing.T) {
	dir := t.TempDir()
	const script = `INSERT INTO thread(id, status, title, metadata, config, head, created_at, updated_at, state_updated_at)
		VALUES ('old', 'idle', '', '{}', '{}', '', 1, 1, 1);
		INSERT INTO message(thread, n, id, body) VALUES ('old', 7, 'm', x'7b7d')`
	must.Do(t, store.MadeBy(t.Context(), dir, 14, script))
	db := openAt(t, dir)
	write := func(thread string, patch *store.ThreadPatch, numbers ...int64) error {
		b := store.Batch{ThreadID: thread, Patch: patch}
		for _, n := range numbers {
			b.Messages = append(b.Messages, store.MessageRow{N: n, ID: "m", Body: []byte("{}")})
		}
		return db.Commit(t.Context(), b)
	}
	top := func(thread string) int64 { return must.Get(db.Standing(t.Context(), thread))(t).Top }
	same(t, "counted before", top("old"), int64(7))
	newThread(t, db, "t")
	for _, patch := range []*store.ThreadPatch{nil, {Touch: true}} {
		first := top("t") + 1
		must.Do(t, write("t", patch, first, first+1, first+2))
		commit(t, db, store.Batch{ThreadID: "t", Delete: &store.Delete{MessagesFrom: first + 1}})
		if err := write("t", patch, first+1); !errors.Is(err, store.ErrConflict) {
			t.Errorf("a number that was taken back: %v", err)
		}
		same(t, "greatest number", top("t"), first+2)
	}
	commit(t, db, store.Batch{Thread: &store.Thread{ID: "copy"}, NewThread: true, CopyFrom: "t"})
	same(t, "in a copy", top("copy"), top("t"))
	checkClean(t, db)
	must.Do(t, db.Exec(t.Context(), "UPDATE thread SET top = 0"))
	same(t, "findings", len(must.Get(db.Check(t.Context()))(t)), 3)
	must.Get(db.Repair(t.Context()))(t)
	checkClean(t, db)
}

func (s suite) RowsKeptInMemoryAreBounded(t *testing.T) {
	db := s.open(t)
	body := []byte(strings.Repeat("w", 1<<20))
	card := store.Card{Messages: []store.Range{{From: 1, To: 6}}}
	for i := range 5 {
		id := fmt.Sprint("t", i)
		newThread(t, db, id)
		b := store.Batch{ThreadID: id}
		for n := int64(1); n <= 6; n++ {
			b.Messages = append(b.Messages, store.MessageRow{N: n, ID: fmt.Sprint("m", n), Body: body})
		}
		commit(t, db, b)
		for range 3 {
			got := len(must.Get(db.SnapshotOf(t.Context(), store.Checkpoint{Thread: id, Card: card}))(t).Messages)
			if got != 6 {
				t.Fatalf("%d messages, want 6", got)
			}
		}
		if bytes, threads := db.KeptRows(); bytes > store.MaxRecent || threads == 0 || threads > 2 {
			t.Fatalf("%d bytes of %d threads are kept, at most %d may be", bytes, threads, store.MaxRecent)
		}
	}
	db.Rest()
	if bytes, threads := db.KeptRows(); bytes != 0 || threads != 0 {
		t.Errorf("at rest %d bytes of %d threads are kept", bytes, threads)
	}
}
