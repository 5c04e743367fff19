package once_test

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/agent/runs"
	"fawn/store"
	"fawn/web/httpx"
	"fawn/web/once"
)

func opened(t *testing.T) *store.DB {
	t.Helper()
	db, err := store.Open(t.Context(), store.Config{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	must.Do(t, err)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func keyOf(t *testing.T, key, body string) once.Key {
	t.Helper()
	r := httptest.NewRequest("POST", "/runs", nil)
	r.Header.Set(once.Header, key)
	k, err := once.Read(r, "ann", []byte(body))
	must.Do(t, err)
	return k
}

func status(err error) int {
	code, _ := httpx.StatusOf(err)
	return code
}

// TestARequestGoesOnWhereItsServerDied: another server finds what the first had planned, under the id that it had chosen.
func TestARequestGoesOnWhereItsServerDied(t *testing.T) {
	db, log := opened(t), slog.New(slog.DiscardHandler)
	key := keyOf(t, "k", "body")
	first, mine, err := once.New(db, log).Claim(t.Context(), key, []byte(`{"thread":"t1"}`))
	if err != nil || !mine {
		t.Fatalf("%v %v", mine, err)
	}
	next := once.New(db, log)
	claim, known, err := next.Lookup(t.Context(), key)
	if err != nil || !known || string(claim.Plan) != `{"thread":"t1"}` || claim.Run != first.Run || claim.Done {
		t.Errorf("the next server finds %+v, %v, %v", claim, known, err)
	}
	var ids []string
	start := func(id string) (store.Run, error) {
		ids = append(ids, id)
		return store.Run{ID: id}, nil
	}
	if _, there, err := next.Run(t.Context(), key, start); err != nil || there || len(ids) != 1 || ids[0] != first.Run {
		t.Errorf("it starts %v, %v, %v", ids, there, err)
	}
	// Marked as stored, and not stored any more.
	if _, _, err := next.Run(t.Context(), key, start); status(err) != http.StatusGone || len(ids) != 1 {
		t.Errorf("a run that is gone: %v, after %v", err, ids)
	}
	if _, _, err := next.Run(t.Context(), keyOf(t, "k", "other"), start); status(err) != 422 {
		t.Errorf("another body: %v", err)
	}
}

// TestADeletedThreadLeavesNothingOfItsKeys but that they were used.
func TestADeletedThreadLeavesNothingOfItsKeys(t *testing.T) {
	db := opened(t)
	keys, key := once.New(db, slog.New(slog.DiscardHandler)), keyOf(t, "k", "body")
	started := 0
	start := func(id string) (store.Run, error) {
		started++
		r := store.Run{ID: id, ThreadID: "t", Status: "success"}
		return r, db.Commit(t.Context(), store.Batch{Thread: &store.Thread{ID: "t"}, Run: &r})
	}
	for range 2 {
		if r, _, err := keys.Run(t.Context(), key, start); err != nil || r.ThreadID != "t" || started != 1 {
			t.Fatalf("run %+v, started %d times: %v", r, started, err)
		}
	}
	must.Do(t, db.Commit(t.Context(), store.Batch{ThreadID: "t", Delete: &store.Delete{Thread: true}}))
	list, err := db.Notes(t.Context(), "idempotency/")
	if err != nil || len(list) != 1 || len(list[0].Body) > 0 {
		t.Errorf("what is kept: %+v, %v", list, err)
	}
	if _, _, err := keys.Run(t.Context(), key, start); status(err) != http.StatusGone || started != 1 {
		t.Errorf("once more: %v, started %d times", err, started)
	}
}

// TestARefusedRequestFreesItsKey unless nobody knows what became of it.
func TestARefusedRequestFreesItsKey(t *testing.T) {
	keys := once.New(opened(t), slog.New(slog.DiscardHandler))
	refused := errors.New("refused")
	for name, c := range map[string]struct {
		err  error
		free bool
	}{"refused": {refused, true}, "not stored": {runs.ErrStorage, false}} {
		key := keyOf(t, name, "body")
		if _, _, err := keys.Run(t.Context(), key, func(string) (store.Run, error) { return store.Run{}, c.err }); !errors.Is(err, c.err) {
			t.Errorf("%s: %v", name, err)
		}
		if _, known, err := keys.Lookup(t.Context(), key); err != nil || known == c.free {
			t.Errorf("%s: the key is known: %v, %v", name, known, err)
		}
	}
}

func TestKeysAreRead(t *testing.T) {
	for name, values := range map[string][]string{"empty": {" "}, "two": {"a", "b"}, "long": {strings.Repeat("k", 256)}} {
		r := httptest.NewRequest("POST", "/runs", nil)
		r.Header[once.Header] = values
		if _, err := once.Read(r, "ann", nil); status(err) != 422 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if k, err := once.Read(httptest.NewRequest("POST", "/runs", nil), "ann", nil); err != nil || k.Given() || k.Part("1").Given() {
		t.Errorf("without a key: %v %v", k.Given(), err)
	}
	k := keyOf(t, "k", "")
	if k.Part("1").ID() == k.ID() || k.ID() != keyOf(t, "k", "other").ID() {
		t.Error("ids don't follow keys")
	}
}
