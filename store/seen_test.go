package store_test

import (
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/store"
)

func (s suite) AThreadIsUnseenFromTheEndOfARunUntilItIsLookedAt(t *testing.T) {
	ctx, db := t.Context(), s.open(t)
	marks := func() store.Mark { return must.Get(db.Marks(ctx, []string{"t", "nothing"}))(t)["t"] }
	see := func(thread string) {
		t.Helper()
		must.Do(t, db.See(ctx, thread))
	}
	run := func(id, status string, last int64) {
		t.Helper()
		commit(t, db,
			store.Batch{Run: &store.Run{ID: id, ThreadID: "t", Status: status, StopReason: "why", FirstSeq: 1,
				LastSeq: last}})
	}
	commit(t, db, store.Batch{Thread: &store.Thread{ID: "t", Head: "c1"},
		Checkpoints: []store.Checkpoint{{ID: "c1", Next: []string{"model"}}}})
	same(t, "without runs", marks(), store.Mark{Next: []string{"model"}})
	run("a", "running", 0)
	same(t, "while one runs", marks(), store.Mark{Next: []string{"model"}})
	run("a", "success", 7)
	same(t, "when it has ended", marks(), store.Mark{Next: []string{"model"}, Unseen: true, Status: "success",
		Reason: "why"})
	see("t")
	same(t, "when it was looked at", marks(), store.Mark{Next: []string{"model"}, Status: "success", Reason: "why"})
	run("b", "pending", 0)
	same(t, "while another waits", marks(), store.Mark{Next: []string{"model"}, Status: "success", Reason: "why"})
	run("b", "error", 9)
	if m := marks(); !m.Unseen || m.Status != "error" {
		t.Errorf("when that failed: %+v", m)
	}
	see("t")
	see("t")
	see("nothing")
	if marks().Unseen {
		t.Error("unseen after all was looked at")
	}

	// One that was made early and ended late is the one that ended last.
	run("c", "pending", 0)
	run("d", "success", 12)
	see("t")
	run("c", "error", 20)
	if m := marks(); !m.Unseen || m.Status != "error" {
		t.Errorf("the late one: %+v", m)
	}
	if got := must.Get(db.Marks(ctx, []string{"nothing"}))(t); len(got) != 0 {
		t.Errorf("marks of what is not there: %v", got)
	}
}
