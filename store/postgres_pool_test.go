package store_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"fawn/agent/agenttest/must"
	"fawn/store"
	"fawn/store/pgtest"
)

// TestPooler runs everything through a pooler that gives each transaction another connection.
func TestPooler(t *testing.T) {
	direct := pgtest.URL(t)
	through := pgtest.Pooler(t, direct, 5)
	Suite(t, func(t testing.TB, dir string) *store.DB {
		t.Helper()
		return openPooled(t, store.Config{Dir: dir, URL: through, ListenURL: direct, Schema: pgtest.Schema(dir)})
	})
}

func openPooled(t testing.TB, cfg store.Config) *store.DB {
	t.Helper()
	cfg.Addr, cfg.Log = "127.0.0.1:2026", slog.New(slog.DiscardHandler)
	db := must.Get(store.Open(context.Background(), cfg))(t)
	t.Cleanup(func() { must.Report(t, db.Close()) })
	return db
}

// TestServersShareAPooler: the transactions of three servers in two schemas take turns on two connections, and each
// keeps to its schema.
func TestServersShareAPooler(t *testing.T) {
	direct := pgtest.URL(t)
	through := pgtest.Pooler(t, direct, 2)
	var wg sync.WaitGroup
	for i, schema := range []string{"one", "one", "two"} {
		db := openPooled(t, store.Config{Dir: t.TempDir(), URL: through, ListenURL: direct, Schema: schema,
			Cluster: true})
		wg.Go(func() {
			for n := range 40 {
				id := fmt.Sprintf("%s-%d-%d", schema, i, n)
				if err := db.Commit(t.Context(), store.Batch{Thread: &store.Thread{ID: id}}); err != nil {
					t.Error(err)
					return
				}
				if _, err := db.Thread(t.Context(), id); err != nil {
					t.Errorf("thread %s: %v", id, err)
				}
			}
		})
	}
	wg.Wait()
	for schema, want := range map[string]int{"one": 80, "two": 40} {
		db := openPooled(t, store.Config{Dir: t.TempDir(), URL: through, ListenURL: direct, Schema: schema,
			Cluster: true})
		list, _ := must.Get2(db.Threads(t.Context(), store.ThreadQuery{Limit: 200}))(t)
		for _, thread := range list {
			if !strings.HasPrefix(thread.ID, schema) {
				t.Errorf("schema %s has thread %s", schema, thread.ID)
			}
		}
		if len(list) != want {
			t.Errorf("schema %s has %d threads", schema, len(list))
		}
	}
}

// TestWakesPassBesideAPooler: what one server says reaches another, although both write through a pooler.
func TestWakesPassBesideAPooler(t *testing.T) {
	direct := pgtest.URL(t)
	through := pgtest.Pooler(t, direct, 2)
	cfg := store.Config{Dir: t.TempDir(), URL: through, ListenURL: direct, Schema: "wakes", Cluster: true}
	a := openPooled(t, cfg)
	cfg.Dir = t.TempDir()
	b := openPooled(t, cfg)
	newThread(t, a, "t")
	heard := make(chan struct{}, 1)
	stop := b.Hear(store.WakeRuns, 0, func(w store.Wake) {
		if !w.All {
			select {
			case heard <- struct{}{}:
			default:
			}
		}
	})
	defer stop()
	for deadline := time.Now().Add(time.Minute); ; {
		a.Say(store.WakeRuns, 0, "t") // until it is known there that b is here
		select {
		case <-heard:
			return
		case <-time.After(50 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatal("nothing was heard")
		}
	}
}

// TestAPoolerWithoutAnotherWayIsRefused, by the start and by who looks before, with what to do about it.
func TestAPoolerWithoutAnotherWayIsRefused(t *testing.T) {
	direct := pgtest.URL(t)
	through := pgtest.Pooler(t, direct, 2)
	cfg := store.Config{Dir: t.TempDir(), URL: through, Log: slog.New(slog.DiscardHandler)}
	if db, err := store.Open(t.Context(), cfg); err == nil {
		db.Close()
		t.Error("a pooler alone will do")
	} else if !strings.Contains(err.Error(), "set database.listen_url") {
		t.Error(err)
	}
	_, err := store.Inspect(t.Context(), cfg)
	if err == nil || !strings.Contains(err.Error(), "set database.listen_url") {
		t.Error(err)
	}
	cfg.URL, cfg.ListenURL = direct, through
	if _, err := store.Inspect(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "listen_url") {
		t.Error(err)
	}
	cfg.URL, cfg.ListenURL = through, direct
	r := must.Get(store.Inspect(t.Context(), cfg))(t)
	if r.Pooler == "" || r.Unfit != nil {
		t.Errorf("%+v", r)
	}
	other := pgtest.URL(t)
	cfg.ListenURL = other
	if other == direct { // FAWN_TEST_PG
		return
	}
	if db, err := store.Open(t.Context(), cfg); err == nil {
		db.Close()
		t.Error("two databases will do")
	} else if !strings.Contains(err.Error(), "different databases") {
		t.Error(err)
	}
}

// TestAPoolerThatBacksOffIsWaitedFor: its database let nobody in, so it sends everybody away for a while although they
// would be let in by now.
func TestAPoolerThatBacksOffIsWaitedFor(t *testing.T) {
	database := pgtest.Start(t)
	direct := strings.Replace(database.URL, "/postgres?", "/guarded?", 1)
	ask := func(address, query string) error {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		conn, err := pgx.Connect(ctx, address)
		if err == nil {
			_, err = conn.Exec(ctx, query)
			conn.Close(ctx)
		}
		return err
	}
	const allow = "ALTER DATABASE guarded WITH ALLOW_CONNECTIONS "
	must.Do(t, ask(database.URL, "CREATE DATABASE guarded"))
	through := pgtest.Pooler(t, direct, 2)
	must.Do(t, errors.Join(ask(through, "SELECT 1"), ask(database.URL, allow+"false"), ask(database.URL,
		"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'guarded'")))
	for end := time.Now().Add(time.Minute); ; {
		err := ask(through, "SELECT 1")
		if err != nil && strings.Contains(err.Error(), "login has been failing") {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the pooler doesn't back off: %v", err)
		}
	}
	must.Do(t, ask(database.URL, allow+"true"))
	if err := ask(through, "SELECT 1"); err == nil {
		t.Error("the pooler lets everybody in already")
	}
	began := time.Now()
	db := openPooled(t, store.Config{Dir: t.TempDir(), URL: through, ListenURL: direct})
	newThread(t, db, "t")
	t.Logf("opened after %v", time.Since(began))
}
