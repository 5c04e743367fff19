package runs

import (
	"encoding/json"
	"log/slog"
	"testing"

	"fawn/agent/runs/runevent"
	"fawn/store"
)

// TestAnUnstoredEndIsTold: readers of a run whose row doesn't say yet that it has ended get the end that it had.
func TestAnUnstoredEndIsTold(t *testing.T) {
	ctx := t.Context()
	db, err := store.Open(ctx, store.Config{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	m := New(Config{DB: db, Log: slog.New(slog.DiscardHandler)})
	defer m.Close()
	run := store.Run{ID: "r", ThreadID: "t", Status: Running, FirstSeq: 1, LastSeq: 1}
	meta := store.Event{Seq: 1, Run: "r", Kind: string(runevent.KindMeta), Data: []byte(`{}`)}
	if err := db.Commit(ctx, store.Batch{Thread: &store.Thread{ID: "t"}, NewRun: true, Run: &run, Events: []store.Event{meta}}); err != nil {
		t.Fatal(err)
	}
	run.Status, run.Error = Failed, "no room"
	m.mu.Lock()
	m.line("t").unstored = &run
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.line("t").unstored = nil
	}()
	r, err := m.Follow(ctx, "r")
	if err != nil {
		t.Fatal(err)
	}
	evs, err := r.Next(ctx, 1)
	if err != nil || len(evs) != 2 {
		t.Fatalf("%d events, %v", len(evs), err)
	}
	var failed runevent.Failure
	var end runevent.End
	if json.Unmarshal(evs[0].Data, &failed) != nil || json.Unmarshal(evs[1].Data, &end) != nil ||
		failed.Message != "no room" || end.Status != Failed {
		t.Errorf("the end is %s %s", evs[0].Data, evs[1].Data)
	}
}
