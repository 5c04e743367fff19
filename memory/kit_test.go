package memory_test

import (
	"context"
	"html"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/memory"
	"fawn/store"
)

const me = store.DefaultOwner

// world is a memory over a real store, with a clock and a model of the test's.
type world struct {
	*memory.Service
	db    *store.DB
	rules memory.Rules
	path  string

	mu      sync.Mutex
	now     time.Time
	prompts []string
	answer  func(l memory.Lesson, prompt string) (string, error)
}

func usual() memory.Rules {
	return memory.Rules{Enabled: true, Inject: true, Debounce: 30 * time.Second, QueueDepth: 1000, MaxFacts: 100,
		Confidence: 0.7, InjectFacts: 15, InjectTokens: 2000, Guaranteed: []string{"correction"}, GuaranteedTokens: 500,
		Review: true, StaleDays: 90, StaleLeast: 3, StaleMost: 10, StaleKeep: []string{"correction"}, StaleLifetime: 20,
		StaleExtend: 3650}
}

func open(t testing.TB) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{rules: usual(), path: filepath.Join(dir, "memory.json"),
		now: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}
	w.rules.Path = w.path
	db := must.Get(store.Open(t.Context(), store.Config{Dir: dir, Log: slog.New(slog.DiscardHandler)}))(t)
	t.Cleanup(func() { db.Close() })
	w.db = db
	w.again()
	return w
}

// again is a new server over the same store.
func (w *world) again() {
	w.Service = memory.New(memory.Config{DB: w.db, Log: slog.New(slog.DiscardHandler), Escape: html.EscapeString,
		Rules: func() memory.Rules { w.mu.Lock(); defer w.mu.Unlock(); return w.rules },
		Now:   func() time.Time { w.mu.Lock(); defer w.mu.Unlock(); return w.now },
		Ask: func(_ context.Context, l memory.Lesson, prompt string) (string, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.prompts = append(w.prompts, prompt)
			if w.answer == nil {
				return "", memory.ErrNoModel
			}
			return w.answer(l, prompt)
		}})
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// thread makes a thread, which values of threads need.
func (w *world) thread(t testing.TB, id string) {
	t.Helper()
	must.Do(t, w.db.Commit(context.Background(), store.Batch{Thread: &store.Thread{ID: id, Owner: me}}))
}

// said ends a run in which a person and the agent spoke in turn.
func (w *world) said(t testing.TB, thread, run string, texts ...string) {
	t.Helper()
	l := memory.Lesson{Owner: me, Thread: thread, Run: run}
	for i, text := range texts {
		l.Said = append(l.Said, memory.Said{ID: run + "-" + string(rune('a'+i)), Human: i%2 == 0, Text: text})
	}
	w.taught(t, l)
}

func (w *world) taught(t testing.TB, l memory.Lesson) {
	t.Helper()
	must.Do(t, w.Learn(context.Background(), l))
	kv, stored := w.Ending(l.Run)
	must.Do(t, w.db.Commit(context.Background(), store.Batch{KV: kv}))
	stored()
}

// facts are the contents of what is known, in the order of the document.
func (w *world) facts(t testing.TB) []string {
	t.Helper()
	d := must.Get(w.Document(context.Background(), me))(t)
	list := []string{}
	for _, f := range d.Facts {
		list = append(list, f.Content)
	}
	return list
}

// add remembers facts by hand and returns the last one's id.
func (w *world) add(t testing.TB, facts ...memory.Fact) (id string) {
	t.Helper()
	for _, f := range facts {
		d, err := w.Add(context.Background(), me, 0, f)
		if err != nil {
			t.Fatalf("%s: %v", f.Content, err)
		}
		id = d.Facts[len(d.Facts)-1].ID
	}
	return id
}
