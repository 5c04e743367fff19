package store_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"fawn/agent/agenttest/must"
	"fawn/store"
	"fawn/store/pgtest"
)

const readMessages = 60

// openRead opens a thread with messages of 20 KB, which are more than what is fetched before a first row is handed on.
// Reads are tried for so long.
func openRead(t *testing.T, url string, patience time.Duration) *store.DB {
	t.Helper()
	db := must.Get(store.Open(t.Context(), store.ReadsFor(store.Config{Dir: t.TempDir(), URL: url, Schema: nodeSchema,
		Lease: 5 * time.Minute, Log: slog.New(slog.DiscardHandler)}, patience)))(t)
	t.Cleanup(func() { db.Close() })
	b := store.Batch{Thread: &store.Thread{ID: "t"}, Checkpoints: []store.Checkpoint{{ID: "c",
		Card: store.Card{Messages: []store.Range{{From: 1, To: readMessages}}}}}}
	for n := int64(1); n <= readMessages; n++ {
		b.Messages = append(b.Messages, store.MessageRow{N: n, ID: fmt.Sprint(n),
			Body: fmt.Appendf(nil, `"%020000d"`, n)})
		b.Events = append(b.Events, store.Event{Seq: n, To: n, Run: "r", Kind: "k", Data: []byte("{}")})
	}
	must.Do(t, db.Commit(t.Context(), b))
	return db
}

// readings are reads of all kinds, each of which looks at what it got.
func readings(ctx context.Context, db *store.DB) map[string]func() error {
	count := func(n, want int, err error) error {
		if err == nil && n != want {
			err = fmt.Errorf("%d instead of %d", n, want)
		}
		return err
	}
	return map[string]func() error{
		"a row": func() error {
			_, err := db.Thread(ctx, "t")
			return err
		},
		"a number": func() error {
			n, err := db.MaxMessage(ctx, "t")
			return count(int(n), readMessages, err)
		},
		"nothing": func() error {
			if _, err := db.Run(ctx, "none"); !errors.Is(err, store.ErrNotFound) {
				return fmt.Errorf("a run that is not there: %w", err)
			}
			return nil
		},
		"rows": func() error {
			n := 0
			err := db.LastEvents(ctx, "t", func(store.Event) (bool, error) {
				n++
				return true, nil
			})
			return count(n, readMessages, err)
		},
		"a view": func() error {
			list, total, err := db.Threads(ctx, store.ThreadQuery{})
			return count(len(list)+total, 2, err)
		},
		"a view of large rows": func() error {
			db.Rest() // drops what it has in memory
			s, err := db.Snapshot(ctx, "t", "c")
			return count(len(s.Messages), readMessages, err)
		},
	}
}

// reading reads until it is told to stop, and reports errors.
func reading(t *testing.T, db *store.DB) (rounds *atomic.Int64, stop func()) {
	rounds = new(atomic.Int64)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var all sync.WaitGroup
	for name, read := range readings(t.Context(), db) {
		all.Go(func() {
			for ctx.Err() == nil {
				if err := read(); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				rounds.Add(1)
			}
		})
	}
	return rounds, func() { cancel(); all.Wait() }
}

// TestReadsOutliveTheirConnections: somebody ends them all, again and again, then the whole server crashes.
func TestReadsOutliveTheirConnections(t *testing.T) {
	server := pgtest.Start(t)
	db := openRead(t, server.URL, 2*time.Minute)
	other := must.Get(pgx.Connect(t.Context(), server.URL))(t)
	rounds, stop := reading(t, db)
	defer stop()
	ended := 0
	for ended < 200 {
		for before := rounds.Load(); rounds.Load() < before+20; { // whoever is cut off every moment reads nothing
			time.Sleep(time.Millisecond)
		}
		var n int
		must.Do(t, other.QueryRow(t.Context(), `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
			WHERE application_name LIKE 'fawn/%' AND pid <> pg_backend_pid()`).Scan(&n))
		ended += n
	}
	server.Crash(t)
	server.Run(t)
	for before := rounds.Load(); rounds.Load() < before+100; {
		time.Sleep(time.Millisecond)
	}
}

// TestAReadGivesUp when its context ends, and is not tried for ever.
func TestAReadGivesUp(t *testing.T) {
	const patience = 5 * time.Second
	server := pgtest.Start(t)
	db := openRead(t, server.URL, patience)
	server.Crash(t)
	defer server.Run(t)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := db.Thread(ctx, "t"); err == nil || time.Since(began) >= patience {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
	began = time.Now()
	if _, err := db.Thread(t.Context(), "t"); !errors.Is(err, store.ErrAway) || time.Since(began) > time.Minute {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
}
