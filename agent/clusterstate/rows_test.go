package clusterstate_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/agent/clusterstate"
	"fawn/store"
	"fawn/store/pgtest"
)

const (
	oneKey = "the first key which is long enough"
	newKey = "another key that is long enough too"
)

// server is one of those that have the database.
func server(t *testing.T, url, wake string) *store.DB {
	t.Helper()
	db := must.Get(store.Open(t.Context(), store.Config{Dir: t.TempDir(), URL: url, Schema: "shared", Cluster: true,
		Wake: wake, Log: slog.New(slog.DiscardHandler)}))(t)
	t.Cleanup(func() { must.Report(t, db.Close()) })
	return db
}

func rows(t *testing.T, db *store.DB, keys string) *clusterstate.Rows {
	t.Helper()
	r := must.Get(tryRows(t, db, keys))(t)
	return r
}

func tryRows(t *testing.T, db *store.DB, text string) (*clusterstate.Rows, error) {
	t.Helper()
	keys := must.Get(clusterstate.ParseKeys(text))(t)
	return clusterstate.Open(t.Context(), db, keys, slog.New(slog.DiscardHandler))
}

func put(t *testing.T, r *clusterstate.Rows, name, body string) {
	t.Helper()
	d := r.Get(name)
	d.Body = []byte(body)
	must.Do(t, r.Put(t.Context(), d))
}

// run has r look until the test ends.
func run(t *testing.T, r *clusterstate.Rows) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { r.Run(ctx) })
	t.Cleanup(func() { stop(); wg.Wait() })
}

// TestAChangeIsSeenByOtherServers: by a wake-up, and without any, as when the one that wrote it was killed before it
// said so, by looking.
func TestAChangeIsSeenByOtherServers(t *testing.T) {
	for _, wake := range []string{"", store.WakePoll} {
		t.Run("wake "+wake, func(t *testing.T) {
			url := pgtest.URL(t)
			a, b := rows(t, server(t, url, wake), oneKey), rows(t, server(t, url, wake), oneKey)
			heard := make(chan []string, 16)
			b.Hear(func(names []string) error { heard <- names; return nil })
			run(t, b)
			put(t, a, "settings", "old: 1")
			for _, want := range []string{"old: 1", "new: 2", ""} {
				if want == "new: 2" {
					put(t, a, "settings", want)
				} else if want == "" {
					must.Do(t, a.Put(t.Context(), clusterstate.Doc{Name: "settings", Version: 2}))
				}
				select {
				case names := <-heard:
					if d := b.Get("settings"); !slices.Equal(names, []string{"settings"}) || string(d.Body) != want {
						t.Errorf("heard of %v, it is %+v, want %q", names, d, want)
					}
				case <-time.After(time.Minute):
					t.Fatalf("%q is not seen", want)
				}
			}
			if names := b.Names(""); len(names) > 0 {
				t.Errorf("what was deleted is still there: %v", names)
			}
		})
	}
}

// TestChangesAtOnceAreNotLost: who comes second is told, and sees what is there by then.
func TestChangesAtOnceAreNotLost(t *testing.T) {
	url := pgtest.URL(t)
	servers := []*clusterstate.Rows{rows(t, server(t, url, ""), ""), rows(t, server(t, url, ""), "")}
	var wg sync.WaitGroup
	for i, r := range servers {
		wg.Go(func() {
			for n := range 20 {
				for {
					d := r.Get("list")
					d.Body = fmt.Appendf(slices.Clone(d.Body), "%d-%d\n", i, n)
					err := r.Put(t.Context(), d)
					if err == nil {
						break
					}
					if !errors.Is(err, clusterstate.ErrChanged) {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	for _, r := range servers {
		if err := r.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		lines := strings.Fields(string(r.Get("list").Body))
		slices.Sort(lines)
		if len(slices.Compact(lines)) != 40 {
			t.Errorf("%d lines: %v", len(lines), lines)
		}
	}
}

// TestSecretsAreSealed in rows, open with the key that sealed them only, and are refused without any.
func TestSecretsAreSealed(t *testing.T) {
	db := server(t, pgtest.URL(t), "")
	plain := rows(t, db, "")
	err := plain.Put(t.Context(), clusterstate.Doc{Name: "secrets", Body: []byte("KEY=very-secret"), Secret: true})
	if !errors.Is(err, clusterstate.ErrNoKey) || !strings.Contains(err.Error(), clusterstate.KeyVariable) || plain.Sealing() {
		t.Errorf("without a key: %v", err)
	}
	a := rows(t, db, oneKey)
	put(t, a, "secrets", "KEY=very-secret")
	put(t, a, "settings", "headers: very-secret")
	bodies := func() (all []store.Setting) {
		all = must.Get(db.Settings(t.Context(), "secrets", "settings"))(t)
		for _, s := range all {
			if bytes.Contains(s.Body, []byte("very-secret")) {
				t.Errorf("%s is in plain: %q", s.Name, s.Body)
			}
		}
		return all
	}
	if got := bodies(); len(got) != 2 {
		t.Errorf("%d rows", len(got))
	}
	for keys, want := range map[string]string{newKey: "encrypted with another " + clusterstate.KeyVariable,
		"": clusterstate.KeyVariable + " is not set"} {
		if _, err := tryRows(t, db, keys); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "very-secret") {
			t.Errorf("with the keys %q: %v", keys, err)
		}
	}
	both := rows(t, db, newKey+", "+oneKey)
	if n, err := both.Reseal(t.Context()); n != 2 || err != nil {
		t.Errorf("sealed %d anew: %v", n, err)
	}
	if n, err := both.Reseal(t.Context()); n != 0 || err != nil {
		t.Errorf("sealed %d anew again: %v", n, err)
	}
	bodies()
	if d := rows(t, db, newKey).Get("secrets"); string(d.Body) != "KEY=very-secret" {
		t.Errorf("with the new key it is %q", d.Body)
	}
	// The server that has the old key goes on with what it knows, and says why.
	if err := a.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := a.Problem(); !errors.Is(err, clusterstate.ErrSealed) || string(a.Get("secrets").Body) != "KEY=very-secret" {
		t.Errorf("the old one has the problem %v", err)
	}
	d := a.Get("secrets")
	if err := a.Put(t.Context(), d); !errors.Is(err, clusterstate.ErrSealed) {
		t.Errorf("the old one writes over it: %v", err)
	}
}

// TestWhatWasStoredWithoutAKeyIsSealed when a server starts with one, and a server that has none goes on with what it
// knows.
func TestWhatWasStoredWithoutAKeyIsSealed(t *testing.T) {
	db := server(t, pgtest.URL(t), "")
	plain := rows(t, db, "")
	put(t, plain, "settings", "url: not-so-public")
	put(t, plain, "gone", "x")
	must.Do(t, plain.Put(t.Context(), clusterstate.Doc{Name: "gone", Version: 1}))
	sealing := rows(t, db, oneKey)
	must.Do(t, sealing.Renew(t.Context()))
	list := must.Get(db.Settings(t.Context(), "settings", "gone"))(t)
	for _, s := range list {
		if want := map[string]int64{"settings": 2, "gone": 2}[s.Name]; s.Version != want ||
			bytes.Contains(s.Body, []byte("not-so-public")) || s.Name == "gone" && s.Body != nil {
			t.Errorf("%s has version %d: %q", s.Name, s.Version, s.Body)
		}
	}
	put(t, sealing, "settings", "changed") // it knows what it has sealed
	if d := rows(t, db, oneKey).Get("settings"); string(d.Body) != "changed" || d.Version != 3 {
		t.Errorf("version %d: %q", d.Version, d.Body)
	}
	if err := plain.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d := plain.Get("settings"); string(d.Body) != "url: not-so-public" || plain.Problem() == nil {
		t.Errorf("without the key: %q, %v", d.Body, plain.Problem())
	}
}

// TestARowOpensUnderItsOwnNameOnly, so that whoever can write rows cannot have one taken for another.
func TestARowOpensUnderItsOwnNameOnly(t *testing.T) {
	db := server(t, pgtest.URL(t), "")
	put(t, rows(t, db, oneKey), "a", "x")
	list := must.Get(db.Settings(t.Context(), "a"))(t)
	must.Do(t, db.SwapSettings(t.Context(), store.Setting{Name: "b", Body: list[0].Body}))
	if _, err := tryRows(t, db, oneKey); err == nil || !strings.Contains(err.Error(), "tampered") {
		t.Errorf("got %v", err)
	}
}

// TestServersSignWithTheSameKey, whether it is made of the one that seals or is a row, and use things once.
func TestServersSignWithTheSameKey(t *testing.T) {
	url := pgtest.URL(t)
	one, two := server(t, url, ""), server(t, url, "")
	for _, text := range []string{"", oneKey} {
		a, b := rows(t, one, text), rows(t, two, text)
		var keys [2][]byte
		var wg sync.WaitGroup
		for i, r := range []*clusterstate.Rows{a, b} {
			wg.Go(func() {
				var err error
				if keys[i], err = r.SigningKey(t.Context(), "x"); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		other, err := a.SigningKey(t.Context(), "y")
		if err != nil || len(keys[0]) != 32 || !bytes.Equal(keys[0], keys[1]) || bytes.Equal(other, keys[0]) {
			t.Errorf("keys %x and %x, for another use %x, %v", keys[0], keys[1], other, err)
		}
		used := "used with " + text
		until := time.Now().Add(time.Minute)
		if first, second := a.Once(used, until), b.Once(used, until); !first || second {
			t.Errorf("used once: %v, twice: %v", first, second)
		}
	}
}

func TestKeysAreLongEnough(t *testing.T) {
	if _, err := clusterstate.ParseKeys("short"); err == nil {
		t.Error("a short key is taken")
	}
	if k, err := clusterstate.ParseKeys(" "); k != nil || err != nil {
		t.Errorf("no key: %v %v", k, err)
	}
	k, err := clusterstate.ParseKeys(oneKey + "," + newKey)
	if err != nil || len(k) != 2 || bytes.Equal(k.Derive("a"), k.Derive("b")) || len(k.Derive("a")) != 32 {
		t.Errorf("%d keys, %v", len(k), err)
	}
}
