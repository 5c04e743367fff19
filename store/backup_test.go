package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/store"
)

func TestBackupIsACompleteDatabase(t *testing.T) {
	ctx, db := t.Context(), open(t)
	newThread(t, db, "t")
	dir := t.TempDir()
	path := filepath.Join(dir, "fawn.db")
	must.Do(t, db.Backup(ctx, path))
	if err := db.Backup(ctx, path); err == nil {
		t.Error("a backup replaced an existing file")
	}
	copied := openAt(t, dir)
	same(t, "thread in the copy", must.Get(copied.Thread(ctx, "t"))(t).ID, "t")
	if n := must.Get(db.Size(ctx))(t); n < 8192 {
		t.Errorf("size %d", n)
	}
}

// Every read is done for the first time by several goroutines at once, which
// must not wait for a connection while holding the only one.
func TestOneReadConnectionIsEnough(t *testing.T) {
	db := must.Get(store.Open(t.Context(), store.Config{Dir: t.TempDir(), Readers: 1}))(t)
	defer db.Close()
	commit(t, db, store.Batch{Thread: &store.Thread{ID: "t", Head: "c"}, Messages: []store.MessageRow{{1, "a", nil}},
		Fields: []store.FieldRow{{"f", 1, nil}},
		Checkpoints: []store.Checkpoint{
			{ID: "c", Card: store.Card{Messages: []store.Range{{1, 1}}, Fields: map[string]int64{"f": 1}}},
		}})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			_, err1 := db.Snapshot(ctx, "t", "")
			_, _, err2 := db.Threads(ctx, store.ThreadQuery{})
			_, _, err3 := db.Threads(ctx, store.ThreadQuery{Metadata: json.RawMessage(`{"a":1}`)})
			_, err4 := db.Check(ctx)
			_, err5 := db.Tail(ctx)
			must.Report(t, errors.Join(err1, err2, err3, err4, err5))
		})
	}
	wg.Wait()
}

func TestCardJSONIsCompact(t *testing.T) {
	b, err := json.Marshal(store.Card{Messages: []store.Range{{1, 412}, {2001, 2001}},
		Fields: map[string]int64{"title": 3}})
	if err != nil || string(b) != `{"messages":[[1,412],[2001,2001]],"fields":{"title":3}}` {
		t.Errorf("%s, %v", b, err)
	}
	for _, bad := range []string{`[1]`, `[1,2,3]`, `{}`, `["a","b"]`} {
		if json.Unmarshal([]byte(bad), new(store.Range)) == nil {
			t.Errorf("%s was read as a range", bad)
		}
	}
}

func TestClosedStoreRefusesWork(t *testing.T) {
	ctx, db := t.Context(), open(t)
	l := db.OpenLane("t", nil)
	must.Do(t, errors.Join(db.Close(), db.Close()))
	l.Append(1, []byte("x"))
	for name, err := range map[string]error{"commit": db.Commit(ctx, store.Batch{}), "flush": l.Flush(ctx),
		"wait": l.Wait(ctx, 1<<20)} {
		if !errors.Is(err, store.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := db.Thread(ctx, "t"); err == nil {
		t.Error("a closed store answered")
	}
}
