package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/store"
)

func auditRow(thread, kind, body string) store.AuditRow {
	return store.AuditRow{Thread: thread, Kind: kind, Body: json.RawMessage(body)}
}

// bodies are the bodies of the rows that q selects.
func bodies(t *testing.T, db *store.DB, q store.AuditQuery) (out []string) {
	t.Helper()
	for _, r := range must.Get(db.Audit(t.Context(), q))(t) {
		out = append(out, string(r.Body))
	}
	return out
}

func (s suite) AuditIsReadNewestFirstByThreadOwnerAndKind(t *testing.T) {
	db := s.open(t)
	newThread(t, db, "a")
	commit(t, db, store.Batch{Thread: &store.Thread{ID: "b", Owner: "bob"}, NewThread: true})
	commit(t, db,
		store.Batch{Audit: []store.AuditRow{auditRow("a", "command", `{"n":1}`), auditRow("b", "egress", `{"n":2}`),
			auditRow("nowhere", "command", `{"n":3}`)}})
	commit(t, db, store.Batch{Audit: []store.AuditRow{auditRow("a", "egress", `{"n":4}`)}})
	for name, c := range map[string]struct {
		q    store.AuditQuery
		want []string
	}{
		"all":     {store.AuditQuery{}, []string{`{"n":4}`, `{"n":2}`, `{"n":1}`}},
		"page":    {store.AuditQuery{Limit: 1}, []string{`{"n":4}`}},
		"thread":  {store.AuditQuery{Thread: "a"}, []string{`{"n":4}`, `{"n":1}`}},
		"kind":    {store.AuditQuery{Thread: "a", Kind: "command"}, []string{`{"n":1}`}},
		"owner":   {store.AuditQuery{Owner: "bob"}, []string{`{"n":2}`}},
		"default": {store.AuditQuery{Owner: "default"}, []string{`{"n":4}`, `{"n":1}`}},
		"nothing": {store.AuditQuery{Thread: "nowhere"}, nil},
	} {
		same(t, name, bodies(t, db, c.q), c.want)
	}
	all := must.Get(db.Audit(t.Context(), store.AuditQuery{}))(t)
	same(t, "before", bodies(t, db, store.AuditQuery{Before: all[0].ID}), []string{`{"n":2}`, `{"n":1}`})

	commit(t, db, store.Batch{ThreadID: "a", Delete: &store.Delete{Thread: true}})
	same(t, "after the thread is gone", bodies(t, db, store.AuditQuery{}), []string{`{"n":2}`})
	newThread(t, db, "c")
	commit(t, db, store.Batch{Audit: []store.AuditRow{auditRow("c", "command", `{"n":5}`)}})
	if again := must.Get(db.Audit(t.Context(), store.AuditQuery{Limit: 1}))(t); again[0].ID <= all[0].ID {
		t.Errorf("number %d was given again after %d", again[0].ID, all[0].ID)
	}
	checkClean(t, db)
}

func (s suite) TheOldestAuditRowsMakeRoom(t *testing.T) {
	db := s.open(t)
	newThread(t, db, "a")
	add := func(n int, body string) {
		t.Helper()
		for i := range n {
			commit(t, db, store.Batch{Audit: []store.AuditRow{auditRow("a", "command", fmt.Sprintf(body, i))}})
		}
	}
	must.Do(t, db.BoundAudit(t.Context(), 5, 1<<30))
	add(12, `{"n":%d}`)
	same(t, "bound of rows", bodies(t, db, store.AuditQuery{}),
		[]string{`{"n":11}`, `{"n":10}`, `{"n":9}`, `{"n":8}`, `{"n":7}`})
	must.Do(t, db.BoundAudit(t.Context(), 1000, 10_000))
	add(30, `{"n":%d,"text":"`+strings.Repeat("x", 1000)+`"}`)
	left := must.Get(db.Audit(t.Context(), store.AuditQuery{}))(t)
	sum := 0
	for _, r := range left {
		sum += len(r.Body)
	}
	if sum > 10_000 || len(left) < 5 || !strings.HasPrefix(string(left[0].Body), `{"n":29,`) {
		t.Errorf("%d rows with %d bytes are left, the newest is %.20s", len(left), sum, left[0].Body)
	}
	checkClean(t, db)
}

// OneServerTrimsTheAuditOfAll: to the same bounds, of rows and of bytes.
func (s suite) OneServerTrimsTheAuditOfAll(t *testing.T) {
	db := s.open(t)
	newThread(t, db, "a")
	for i := range 20 {
		body := fmt.Sprintf(`{"n":%d,"text":"%s"}`, i, strings.Repeat("x", 1000))
		commit(t, db, store.Batch{Audit: []store.AuditRow{auditRow("a", "command", body)}})
	}
	for _, c := range []struct {
		rows, bytes int64
		want        int
	}{{1000, 1 << 30, 20}, {12, 1 << 30, 12}, {1000, 6000, 5}, {1000, 6000, 5}} {
		must.Do(t, errors.Join(db.BoundAudit(t.Context(), c.rows, c.bytes), db.TrimAudit(t.Context())))
		left := must.Get(db.Audit(t.Context(), store.AuditQuery{}))(t)
		if len(left) != c.want || !strings.HasPrefix(string(left[0].Body), `{"n":19,`) {
			t.Errorf("%+v: %d rows are left, the newest is %.20s", c, len(left), left[0].Body)
		}
	}
	checkClean(t, db)
}

func (s suite) ValuesAreFoundByTheBeginningOfTheirKeys(t *testing.T) {
	db := s.open(t)
	commit(t, db,
		store.Batch{KV: []store.KV{{Space: "s", Key: "a b", Body: []byte("1")},
			{Space: "s", Key: "a%", Body: []byte("2")}, {Space: "s", Key: "b", Body: []byte("3")},
			{Space: "o", Key: "a c", Body: []byte("4")}}})
	same(t, "by prefix", must.Get(db.KVs(t.Context(), "", "s", "a "))(t),
		[]store.KV{{Space: "s", Key: "a b", Body: []byte("1")}})
	if all := must.Get(db.KVs(t.Context(), "", "s", ""))(t); len(all) != 3 {
		t.Errorf("%d values of the space", len(all))
	}
}
