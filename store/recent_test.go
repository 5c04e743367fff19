package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"fawn/store"
)

// A turn that is taken back and asked again gives numbers to other messages. Whoever reads
// meanwhile sees one of the two, and never one message with the other's checkpoint.
func TestRowsKeptInMemoryAreThoseOfTheFile(t *testing.T) {
	db := open(t)
	newThread(t, db, "t")
	row := func(n int64, turn int) store.MessageRow {
		return store.MessageRow{N: n, ID: fmt.Sprint("m", turn, "-", n), Body: fmt.Appendf(nil, `{"n":%d,"turn":%d}`, n, turn)}
	}
	ctx, cancel := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	id := func(step int) string { return fmt.Sprintf("c%06d", step) }
	// write replaces the head by a checkpoint of the messages 1 to to; those from from on are new.
	write := func(step int, from, to int64) {
		cp := store.Checkpoint{ID: id(step), Thread: "t", Step: step, Source: "loop", Card: store.Card{Messages: []store.Range{{From: 1, To: to}}}, At: at}
		head := cp.ID
		b := store.Batch{ThreadID: "t", Patch: &store.ThreadPatch{Head: &head}, Checkpoints: []store.Checkpoint{cp}, Delete: &store.Delete{}}
		for n := from; n <= to; n++ {
			b.Messages = append(b.Messages, row(n, step))
		}
		if from > to {
			b.Delete.MessagesFrom = from
		}
		if step > 0 {
			b.Delete.Checkpoints = []string{id(step - 1)}
		}
		commit(t, db, b)
	}
	write(0, 1, 40)
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
				if got := string(snap.Messages[len(snap.Messages)-1].Body); len(snap.Messages) != 40 || !strings.HasSuffix(got, newest) {
					t.Errorf("%d messages in step %d, the last is %s", len(snap.Messages), snap.Checkpoint.Step, got)
					return
				}
			}
		})
	}
	for step := 1; step <= 600; step += 2 {
		from := int64(2 + step*7%39)
		write(step, from, from-1)
		write(step+1, from, 40)
		if step%50 == 1 {
			db.Rest()
		}
	}
	kept, read := must(db.Snapshot(t.Context(), "t", ""))(t), must(db.Snapshot(t.Context(), "t", ""))(t)
	db.ForgetRows()
	same(t, "rows of the file", must(db.Snapshot(t.Context(), "t", ""))(t), kept)
	same(t, "rows", read, kept)
}

func TestRowsOfADeletedThreadAreForgotten(t *testing.T) {
	db := open(t)
	card := store.Card{Messages: []store.Range{{From: 1, To: 2}}}
	for _, body := range []string{"one", "two"} {
		newThread(t, db, "t")
		commit(t, db, store.Batch{ThreadID: "t", Messages: []store.MessageRow{{1, "a", []byte(body)}, {2, "b", []byte(body)}}})
		for range 2 {
			snap := must(db.SnapshotOf(t.Context(), store.Checkpoint{Thread: "t", Card: card}))(t)
			same(t, "messages", snap.Messages, []store.MessageRow{{1, "a", []byte(body)}, {2, "b", []byte(body)}})
		}
		commit(t, db, store.Batch{ThreadID: "t", Delete: &store.Delete{Thread: true}})
		if _, err := db.SnapshotOf(t.Context(), store.Checkpoint{Thread: "t", Card: card}); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a deleted thread: %v", err)
		}
	}
}

func TestRowsKeptInMemoryAreBounded(t *testing.T) {
	db := open(t)
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
			if got := len(must(db.SnapshotOf(t.Context(), store.Checkpoint{Thread: id, Card: card}))(t).Messages); got != 6 {
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
