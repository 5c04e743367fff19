package store_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/store"
)

// TestMemoryChangesAtOnce: a change is all or nothing, and none goes over another.
func (s suite) MemoryChangesAtOnce(t *testing.T) {
	db := s.open(t)
	ctx, at := t.Context(), time.UnixMilli(1_700_000_000_000).UTC()
	fact := func(agent, id, content string) store.Fact {
		return store.Fact{Agent: agent, ID: id, Content: content, Category: "context", Confidence: 0.5, Source: "t",
			Message: "m", Created: at, Updated: at, Extra: json.RawMessage(`{}`)}
	}
	lesson := store.KV{Space: "s", Key: "k", Body: []byte("old")}
	same(t, "first", must.Get(db.ChangeMemory(ctx, store.MemoryChange{Owner: "ann", At: at,
		Body: json.RawMessage(`{"a":1}`), KV: []store.KV{lesson},
		Put: []store.Fact{fact("", "1", "one"), fact("", "2", "two"), fact("x", "1", "other")}}))(t), int64(1))
	for name, from := range map[string]int64{"new": 0, "old": 7} {
		_, err := db.ChangeMemory(ctx, store.MemoryChange{Owner: "ann", From: from, At: at, Clear: true,
			KV: []store.KV{{Space: "s", Key: "k"}}})
		if !errors.Is(err, store.ErrConflict) {
			t.Error(name, err)
		}
	}
	same(t, "second", must.Get(db.ChangeMemory(ctx, store.MemoryChange{Owner: "ann", From: 1, At: at.Add(time.Second),
		Delete: []store.FactKey{{ID: "1"}}, Put: []store.Fact{fact("", "2", "TWO")},
		Drop: []store.KV{{Space: "s", Key: "k", Body: []byte("newer")}}}))(t), int64(2))
	m := must.Get(db.Memory(ctx, "ann"))(t)
	same(t, "revision", m.Revision, int64(2))
	same(t, "body", string(m.Body), `{"a":1}`)
	same(t, "updated", m.Updated, at.Add(time.Second))
	one, two := fact("", "2", "TWO"), fact("x", "1", "other")
	one.Revision, two.Revision = 2, 1
	same(t, "facts", m.Facts, []store.Fact{one, two})
	same(t, "a value with another body stays", string(must.Get(db.KV(ctx, "", "s", "k"))(t)), "old")
	same(t, "values alone",
		must.Get(db.ChangeMemory(ctx, store.MemoryChange{Owner: "ann", From: 2, Drop: []store.KV{lesson}}))(t), int64(2))
	if _, err := db.KV(ctx, "", "s", "k"); !errors.Is(err, store.ErrNotFound) {
		t.Error(err)
	}
	same(t, "nobody's", must.Get(db.Memory(ctx, "eve"))(t), store.Memory{Body: json.RawMessage("{}")})
}
