package tasks_test

import (
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/agent/mcp/tasks"
	"fawn/store"
)

// TestOneBadRowHidesNoOtherTask: it is passed over and told of, also by who looks for tasks that nobody follows, and lists
// have the newest first, however many there are.
func TestOneBadRowHidesNoOtherTask(t *testing.T) {
	ctx := t.Context()
	db := must.Get(store.Open(ctx, store.Config{Dir: t.TempDir(), Addr: "127.0.0.1:2026", Log: slog.New(slog.DiscardHandler)}))(t)
	t.Cleanup(func() { db.Close() })
	bad := map[string]int{}
	book := tasks.Book{DB: db, Bad: func(thread, id string, err error) { bad[thread+" "+id]++ }}
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	const many = 120
	for i := range many {
		at := begin.Add(time.Duration(i) * time.Second)
		k := tasks.Task{ID: tasks.NewID(at), Thread: "a", Run: "r", Call: fmt.Sprint("c", i), Status: tasks.Completed, Created: at}
		if i == 0 {
			k.Status = tasks.Working
		}
		must.Do(t, book.Put(ctx, k))
	}
	broken := "a " + tasks.NewID(begin.Add(time.Hour))
	must.Do(t, db.Commit(ctx, store.Batch{KV: []store.KV{
		{Owner: store.Global, Space: "thread_mcp_task", Key: broken, Body: []byte(`{"id":7`)},
		{Owner: store.Global, Space: "thread_mcp_task_open", Key: broken, Body: []byte(`{}`)}}}))
	list, err := book.List(ctx, "a", 2)
	if err != nil || len(list) != 2 || list[0].Call != "c119" || list[1].Call != "c118" {
		t.Errorf("%+v, %v", list, err)
	}
	if all, err := book.List(ctx, "a", 1000); err != nil || len(all) != many {
		t.Errorf("%d of them, %v", len(all), err)
	}
	if open, err := book.Open(ctx); err != nil || len(open) != 1 || open[0].Call != "c0" {
		t.Errorf("open: %+v, %v", open, err)
	}
	if first, err := book.OfCall(ctx, "a", "r", "c0"); err != nil || first.Status != tasks.Working {
		t.Errorf("of a call: %+v, %v", first, err)
	}
	if len(bad) != 1 || bad[broken] < 3 {
		t.Errorf("told of %v", bad)
	}
}

// TestAWishIsSeenUntilTheTaskHasEnded: a task that is read while it ends is open and wished to end, or it is over.
func TestAWishIsSeenUntilTheTaskHasEnded(t *testing.T) {
	db := must.Get(store.Open(t.Context(), store.Config{Dir: t.TempDir()}))(t)
	defer db.Close()
	b, now := tasks.Book{DB: db}, time.Now()
	for range 100 {
		task := tasks.Task{ID: tasks.NewID(now), Thread: "one", Status: tasks.Working}
		must.Do(t, errors.Join(b.Put(t.Context(), task), b.Cancel(t.Context(), "one", task.ID, now)))
		over := task
		over.Status, over.Cancelled = tasks.Cancelled, now
		ended := make(chan error, 1)
		go func() { ended <- b.Put(t.Context(), over) }()
		for {
			got, err := b.Get(t.Context(), "one", task.ID)
			if err != nil || got.Cancelled.IsZero() {
				t.Fatalf("%+v %v", got, err)
			}
			if got.Over() {
				break
			}
		}
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	}
}
