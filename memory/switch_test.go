package memory_test

import (
	"encoding/json"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/memory"
	"fawn/store"
)

// TestNobodyIsRememberedAgainstTheirWill: memory that a person has switched off, and that of a temporary thread, neither
// learns nor recalls, and what waited is dropped.
func TestNobodyIsRememberedAgainstTheirWill(t *testing.T) {
	w := open(t)
	ctx := t.Context()
	w.says(facts(fact("Lives in Bern")))
	w.add(t, memory.Fact{Content: "Likes Bern"})
	recalled := func(thread string) string {
		return must.Get(w.Recall(ctx, memory.Question{Owner: me, Thread: thread, Text: "What about Bern?"}))(t).Text
	}
	w.thread(t, "usual")
	temporary := store.Thread{ID: "temporary", Owner: me, Metadata: json.RawMessage(`{"fawn_temporary":true}`)}
	must.Do(t, w.db.Commit(ctx, store.Batch{Thread: &temporary}))
	w.said(t, "temporary", "r1", "I live in Bern", "Nice.")
	if n := must.Get(w.Waiting(ctx))(t); n != 0 || recalled("temporary") != "" || recalled("usual") == "" {
		t.Errorf("%d wait; recalled %q and %q", n, recalled("temporary"), recalled("usual"))
	}
	w.said(t, "usual", "r2", "I live in Bern", "Nice.")
	must.Do(t, w.SetMuted(ctx, me, true))
	w.pass(time.Minute)
	w.Work(ctx)
	if n := must.Get(w.Waiting(ctx))(t); n != 0 || len(w.prompts) != 0 || recalled("usual") != "" {
		t.Errorf("%d wait, the model was asked %v, recalled %q", n, w.prompts, recalled("usual"))
	}
	w.said(t, "usual", "r3", "I live in Bern", "Nice.")
	if n := must.Get(w.Waiting(ctx))(t); n != 0 {
		t.Errorf("%d wait", n)
	}
	if err := w.SetMuted(ctx, me, false); err != nil || recalled("usual") == "" {
		t.Errorf("recalled %q, %v", recalled("usual"), err)
	}
}
