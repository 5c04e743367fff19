package store_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/store"
)

// TestADatabaseOfThePreviousSchema: what was in the trash by its owner's name is there by its
// moment, and values of the server's own stay where it looks for them.
func TestADatabaseOfThePreviousSchema(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	must.Do(t, store.MadeBy(ctx, dir, 6, `
		INSERT INTO thread(id, owner, status, title, metadata, config, head, created_at, updated_at, state_updated_at) VALUES
			('kept', 'default', 'idle', 'Kept', '{}', '{}', '', 1000, 2000, 2000),
			('gone', 'bin:default', 'idle', 'Gone', '{}', '{}', '', 1000, 3000, 3000),
			('eves', 'eve', 'idle', 'Hers', '{}', '{}', '', 1000, 4000, 4000);
		INSERT INTO share(thread, owner, token, checkpoint, created_at) VALUES ('kept', 'default', 'T1', 'c', 1), ('gone', 'default', 'T2', 'c', 1);
		INSERT INTO spending(owner, thread, run, purpose, model, input, output, total, cost, currency, at)
			VALUES ('bin:default', 'gone', '', 'title', 'm', 1, 2, 3, 0, '', 5000);
		INSERT INTO audit(owner, thread, kind, upto, body) VALUES ('bin:default', 'gone', 'command', 2, '{}');
		INSERT INTO kv(space, key, body) VALUES ('egress_decision', 'example.com', x'5b5d'), ('thread_ttl', 'kept', x'7b7d'), ('notes', 'n', x'31');`))
	db := openAt(t, dir)
	page, total, err := db.Threads(ctx, store.ThreadQuery{Owner: "default"})
	if err != nil || total != 1 || page[0].ID != "kept" || !page[0].DeletedAt.IsZero() {
		t.Errorf("threads: %+v of %d, %v", page, total, err)
	}
	gone := must.Get(db.Thread(ctx, "gone"))(t)
	if gone.Owner != "default" || !gone.DeletedAt.Equal(time.UnixMilli(3000)) {
		t.Errorf("the deleted one: %+v", gone)
	}
	if _, err := db.ShareByToken(ctx, "T1"); err != nil {
		t.Errorf("the link of one that is not deleted: %v", err)
	}
	if _, err := db.ShareByToken(ctx, "T2"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the link of the deleted one: %v", err)
	}
	if sum := must.Get(db.Totals(ctx, "default"))(t); sum.Threads != 1 || sum.Tokens != 3 {
		t.Errorf("totals: %+v", sum)
	}
	if rows := must.Get(db.Audit(ctx, store.AuditQuery{Owner: "default", Limit: 9}))(t); len(rows) != 1 {
		t.Errorf("audit: %+v", rows)
	}
	same(t, "of the server", must.Get(db.KV(ctx, store.Global, "egress_decision", "example.com"))(t), []byte("[]"))
	same(t, "of a thread", must.Get(db.KV(ctx, store.Global, "thread_ttl", "kept"))(t), []byte("{}"))
	same(t, "of an owner", must.Get(db.KV(ctx, "default", "notes", "n"))(t), []byte("1"))
	overdue, next, err := db.Overdue(ctx, time.Minute)
	if err != nil || next != 0 || !slices.Equal(overdue, []string{"gone"}) {
		t.Errorf("to be removed: %v, next in %s, %v", overdue, next, err)
	}
	checkClean(t, db)
}

func (s suite) ValuesOfTwoOwnersUnderOneKey(t *testing.T) {
	ctx, db := t.Context(), s.open(t)
	for _, owner := range []string{store.Global, "ann", "bob"} {
		commit(t, db, store.Batch{KV: []store.KV{{Owner: owner, Space: "s", Key: "k", Body: []byte("of " + owner)}}})
	}
	commit(t, db, store.Batch{KV: []store.KV{{Owner: "bob", Space: "s", Key: "k"}}})
	same(t, "hers", must.Get(db.KV(ctx, "ann", "s", "k"))(t), []byte("of ann"))
	same(t, "everybody's", must.Get(db.KVs(ctx, store.Global, "s", ""))(t),
		[]store.KV{{Space: "s", Key: "k", Body: []byte("of ")}})
	if _, err := db.KV(ctx, "bob", "s", "k"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("his, which he deleted: %v", err)
	}
}

func (s suite) TheTrashIsItsOwners(t *testing.T) {
	ctx, db := t.Context(), s.open(t)
	for id, owner := range map[string]string{"a1": "ann", "a2": "ann", "a3": "ann", "b1": "bob"} {
		commit(t, db, store.Batch{Thread: &store.Thread{ID: id, Owner: owner}})
	}
	count := func(owner string) int {
		_, n := must.Get2(db.Threads(ctx, store.ThreadQuery{Owner: owner}))(t)
		return n
	}
	if n := count("ann"); n != 3 {
		t.Fatalf("%d threads", n)
	}
	at, old := time.Now(), time.Now().Add(-time.Hour)
	for id, when := range map[string]time.Time{"a1": at, "a2": at, "a3": old} {
		must.Do(t, db.Discard(ctx, "ann", id, when))
	}
	for what, err := range map[string]error{"somebody else's": db.Discard(ctx, "ann", "b1", at),
		"twice": db.Discard(ctx, "ann", "a1", at)} {
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := db.ThreadOf(ctx, "ann", "a1"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a deleted thread: %v", err)
	}
	if n, m := count("ann"), must.Get(db.Discarded(ctx, "ann", at))(t); n != 0 || m != 2 {
		t.Errorf("%d left, %d can be restored", n, m)
	}
	overdue, next, err := db.Overdue(ctx, time.Minute)
	if err != nil || !slices.Equal(overdue, []string{"a3"}) || next <= 0 || next > time.Minute {
		t.Errorf("overdue: %v, next in %s, %v", overdue, next, err)
	}
	if back := must.Get(db.Restore(ctx, "bob", at, time.Minute))(t); len(back) != 0 {
		t.Errorf("bob restored %v", back)
	}
	if back := must.Get(db.Restore(ctx, "ann", old, time.Minute))(t); len(back) != 0 {
		t.Errorf("restored too late: %v", back)
	}
	back := must.Get(db.Restore(ctx, "ann", at, time.Minute))(t)
	slices.Sort(back)
	if !slices.Equal(back, []string{"a1", "a2"}) || count("ann") != 2 {
		t.Errorf("restored %v, %d in the list", back, count("ann"))
	}
}
