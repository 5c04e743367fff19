package tracestore_test

import (
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"fawn/agent"
	"fawn/agent/tracestore"
	"fawn/store"
)

// TestListsOfToolsAreStoredOnce for all chats, and stay when one of these is deleted; a client's tools belong to its chat.
func TestListsOfToolsAreStoredOnce(t *testing.T) {
	for _, c := range []struct {
		name   string
		server string
		keep   time.Duration
		lists  int64 // stored ones of two threads
	}{{"the server's", "", time.Hour, 1}, {"a client's", "client", time.Hour, 2}, {"kept as long as the chat", "", 0, 2}} {
		t.Run(c.name, func(t *testing.T) {
			ctx := t.Context()
			db, err := store.Open(ctx, store.Config{Dir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			s := tracestore.New(db, func() tracestore.Rules { return tracestore.Rules{Prompts: true, Keep: c.keep} },
				slog.New(slog.DiscardHandler))
			defer s.Close()
			tools := []*agent.Tool{{Name: "paint", Server: c.server, Schema: json.RawMessage(`{}`)}}
			call := func(thread string) {
				t.Helper()
				run := store.Run{ID: "run of " + thread, ThreadID: thread, Status: "success"}
				err := db.Commit(ctx, store.Batch{Thread: &store.Thread{ID: thread}, NewThread: true, Run: &run})
				if err != nil {
					t.Fatal(err)
				}
				_, end := s.Run(ctx, run)
				s.Model(ctx, &agent.Turn{ThreadID: thread, RunID: run.ID}, &agent.ModelCall{Began: time.Now(),
					Request: &agent.Request{Tools: tools}})
				end(run)
				if err := s.Flush(ctx); err != nil {
					t.Fatal(err)
				}
			}
			call("a")
			call("b")
			shape, err := db.Shape(ctx)
			if err != nil || shape.Rows["prompt"] != c.lists {
				t.Errorf("%d lists are stored, want %d; %v", shape.Rows["prompt"], c.lists, err)
			}
			if err := db.Commit(ctx, store.Batch{ThreadID: "a", Delete: &store.Delete{Thread: true}}); err != nil {
				t.Fatal(err)
			}
			spans, err := s.Spans(ctx, "b", "run of b")
			if err != nil || len(spans) != 2 {
				t.Fatalf("%d calls, %v", len(spans), err)
			}
			for _, span := range spans {
				if span.Prompt == nil {
					continue
				}
				p, err := s.Prompt(ctx, "b", span)
				if err != nil || len(p.Tools) != 1 || p.Tools[0].Name != "paint" || p.Missing != 0 {
					t.Errorf("%+v, %v", p, err)
				}
			}
			if findings, err := db.Check(ctx); err != nil || len(findings) > 0 {
				t.Errorf("check: %v %v", findings, err)
			}
		})
	}
}
