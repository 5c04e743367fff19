package store

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/store/pgtest"
)

// TestEverythingMovesThereAndBack: with the same rows, numbers that go on, and a source that nobody goes on with.
func TestEverythingMovesThereAndBack(t *testing.T) {
	ctx, log := t.Context(), slog.New(slog.DiscardHandler)
	first, second := Config{Dir: t.TempDir(), Log: log, Readers: 4}, Config{Dir: t.TempDir(), Log: log}
	pg := Config{Dir: t.TempDir(), Log: log, URL: pgtest.Storage(t), Readers: 4}
	db, err := Open(ctx, first)
	if err != nil {
		t.Fatal(err)
	}
	lane := db.OpenLane("t", nil)
	picture := `{"data":"` + strings.Repeat("QUJD", 2000) + `"}`
	err = errors.Join(
		db.Commit(ctx, Batch{Thread: &Thread{ID: "t", Title: "a\x00b",
			Metadata: []byte(`{"deerflow_pinned":true,"x":"\u0000"}`), Head: "c"},
			Run: &Run{ID: "r", ThreadID: "t", Status: "success",
				Usage: []byte(`{"by_model":{"m":{"total_tokens":3,"cost":0.1}}}`)},
			Messages: []MessageRow{{N: 1, ID: "m", Body: []byte(picture)}},
			Fields:   []FieldRow{{Name: "f", Version: 1, Body: []byte{0, 255}}},
			Checkpoints: []Checkpoint{
				{ID: "c", Card: Card{Messages: []Range{{1, 1}}, Fields: map[string]int64{"f": 1}}},
			},
			Events: []Event{{Seq: 1, To: 4, Run: "r", Kind: "k", Data: []byte("e")}}}),
		db.Commit(ctx, Batch{Audit: []AuditRow{{Thread: "t", Kind: "k", Body: []byte("{}")}},
			Spending: []Spending{{Thread: "t", Purpose: "title", Model: "m", Cost: 0.3}},
			KV:       []KV{{Space: "s", Key: "k", Body: []byte("v")}}}),
		db.AddPassages(ctx, "t", "a.pdf", "whole", []Passage{{File: "a.pdf", Text: "The tenant pays the rent."}}),
		db.PutItem(ctx, "", Item{Namespace: []string{"a", "b"}, Key: "k", Value: []byte(`{}`)}),
		db.PutTrace(ctx, nil, []PromptPart{{Thread: "t", Hash: []byte{1}, Body: []byte{2}}}, time.Now()))
	lane.Append(5, []byte("growing"))
	must.Do(t, errors.Join(err, lane.Flush(ctx), db.Close()))
	if _, err := Move(ctx, first, pg, "there", true); err != nil {
		t.Fatal("to see whether it would work: ", err)
	}
	there := must.Get(Move(ctx, first, pg, "there", false))(t)
	rows := map[string]int64{}
	for _, m := range there {
		rows[m.Name] = m.Rows
	}
	for _, name := range []string{"thread", "run", "message", "blob", "event", "tail", "audit", "spending", "kv",
		"passage", "item", "prompt"} {
		if rows[name] == 0 {
			t.Errorf("nothing of %s was moved", name)
		}
	}
	var moved *MovedError
	if _, err := Open(ctx, first); !errors.As(err, &moved) || moved.To != "there" {
		t.Errorf("the source opens: %v", err)
	}
	if _, err := Move(ctx, second, pg, "there", false); err == nil || !strings.Contains(err.Error(), "must be empty") {
		t.Errorf("moved over what is there: %v", err)
	}
	inUse(t, pg)
	// Back to where the rows came from, where threads have files.
	must.Do(t, os.MkdirAll(filepath.Join(first.Dir, "threads", "t"), 0o700))
	must.Get(Move(ctx, pg, first, "back", false))(t)
	inUse(t, first)
}

// inUse looks for everything and goes on with it.
func inUse(t *testing.T, cfg Config) {
	t.Helper()
	ctx := t.Context()
	db := must.Get(Open(ctx, cfg))(t)
	defer db.Close()
	if found, err := db.Check(ctx); err != nil || len(found) > 0 {
		t.Errorf("found %q: %v", found, err)
	}
	list, _, err := db.Threads(ctx, ThreadQuery{Owner: DefaultOwner})
	if err != nil || len(list) != 1 || list[0].Title != "a\uFFFDb" {
		t.Errorf("threads %+v: %v", list, err)
	}
	snap, err := db.Snapshot(ctx, "t", "")
	if err != nil || len(snap.Messages) != 1 || !strings.Contains(string(snap.Messages[0].Body), "QUJDQUJD") ||
		string(snap.Fields["f"]) != "\x00\xff" {
		t.Errorf("snapshot %+v: %v", snap, err)
	}
	if tail, err := db.Tail(ctx); err != nil || len(tail["t"]) != 1 || string(tail["t"][0].Data) != "growing" {
		t.Errorf("tail %v: %v", tail, err)
	}
	if found, err := db.FindPassages(ctx, "t", "paying rents", nil, 3); err != nil || len(found) != 1 {
		t.Errorf("passages %v: %v", found, err)
	}
	before, err := db.Audit(ctx, AuditQuery{})
	if err != nil || len(before) == 0 {
		t.Fatalf("audit %v: %v", before, err)
	}
	must.Do(t, db.Commit(ctx, Batch{Audit: []AuditRow{{Thread: "t", Kind: "more", Body: []byte("{}")}}}))
	after, err := db.Audit(ctx, AuditQuery{})
	if err != nil || len(after) != len(before)+1 || after[0].ID <= before[0].ID {
		t.Errorf("audit %v after %v: %v", after, before, err)
	}
}
