package hostrules_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/sandbox/egress"
	"fawn/store"
	"fawn/store/pgtest"
	"fawn/web/hostrules"
)

// decisions is one over a real database with a thread, and what its readers are told.
type decisions struct {
	*hostrules.Decisions
	mu   sync.Mutex
	told []string
}

func newDecisions(t *testing.T, patience time.Duration, run func() string) *decisions {
	t.Helper()
	db, err := store.Open(t.Context(), store.Config{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	must.Do(t, err)
	return over(t, db, patience, run)
}

// over is one over a database.
func over(t *testing.T, db *store.DB, patience time.Duration, run func() string) *decisions {
	t.Helper()
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	b := &decisions{}
	b.Decisions = hostrules.New(db, func(_ string, event json.RawMessage) {
		var e struct{ Type string }
		if err := json.Unmarshal(event, &e); err != nil {
			t.Error(err)
		}
		b.mu.Lock()
		b.told = append(b.told, strings.TrimPrefix(e.Type, "network_"))
		b.mu.Unlock()
	}, slog.New(slog.DiscardHandler))
	b.Patience = func(context.Context, string) (string, time.Duration) { return run(), patience }
	for _, id := range []string{"t1", "t2"} {
		must.Do(t, db.Commit(t.Context(), store.Batch{Thread: &store.Thread{ID: id}}))
	}
	return b
}

func (b *decisions) events() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Join(b.told, " ")
}

func question(thread, host string) egress.Question {
	return egress.Question{Thread: thread, Host: host, Port: 443, At: time.Now()}
}

// held waits until one more connection is held, in the background.
func (b *decisions) held(t *testing.T, q egress.Question) <-chan bool {
	t.Helper()
	done, before := make(chan bool, 1), b.Held(q.Thread, q.Host)
	go func() { done <- b.Await(t.Context(), q) }()
	for limit := time.Now().Add(time.Minute); b.Held(q.Thread, q.Host) == before; time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("it is not held")
		}
	}
	return done
}

func TestAnAnswerLetsItsConnectionsGo(t *testing.T) {
	b := newDecisions(t, time.Hour, func() string { return "r1" })
	var all []<-chan bool
	for _, q := range []egress.Question{question("t1", "a.example"), question("t1", "a.example"),
		question("t2", "a.example"), question("t1", "b.example")} {
		b.Ask(q)
		all = append(all, b.held(t, q))
	}
	must.Do(t, b.Answer(t.Context(), "t1", "a.example", egress.Once))
	if !<-all[0] || !<-all[1] || b.Waiting("t1", "a.example") || !b.Waiting("t2", "a.example") {
		t.Error("the answer for one thread did not let exactly its connections go")
	}
	must.Do(t, b.Answer(t.Context(), "t1", "a.example", egress.Always))
	if !<-all[2] || !b.Waiting("t1", "b.example") {
		t.Error("always is for every thread, and for one host")
	}
	must.Do(t, b.Answer(t.Context(), "t1", "b.example", egress.No))
	if !<-all[3] {
		t.Error("no is an answer, too")
	}
	if got := b.events(); strings.Contains(got, "refused") || strings.Count(got, "waiting") != 3 {
		t.Errorf("readers were told %s", got)
	}
}

func TestNobodyIsWaitedForTwiceInARun(t *testing.T) {
	run := "r1"
	b := newDecisions(t, 50*time.Millisecond, func() string { return run })
	first, second := question("t1", "a.example"), question("t1", "b.example")
	b.Ask(first)
	b.Ask(second)
	if b.Await(t.Context(), question("t1", "never-asked.example")) {
		t.Error("a question nobody sees was waited for")
	}
	if b.Await(t.Context(), first) {
		t.Error("answered by nobody")
	}
	if b.Await(t.Context(), second) ||
		!slices.Equal(strings.Fields(b.events()), []string{"question", "question", "waiting", "refused"}) {
		t.Errorf("readers were told %s", b.events())
	}
	run = "r2" // somebody may be there again
	if b.Await(t.Context(), second) || !strings.HasSuffix(b.events(), "waiting refused") {
		t.Errorf("the next run did not wait: %s", b.events())
	}
}

func TestAClientThatHangsUpIsNotWaitedFor(t *testing.T) {
	b := newDecisions(t, time.Hour, func() string { return "r1" })
	q := question("t1", "a.example")
	b.Ask(q)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if b.Await(ctx, q) || b.Waiting("t1", "a.example") {
		t.Error("it is held")
	}
}

func TestWhoeverMayNotWaitIsRefusedAtOnce(t *testing.T) {
	b := newDecisions(t, 0, func() string { return "" })
	q := question("t1", "a.example")
	b.Ask(q)
	if b.Await(t.Context(), q) || b.events() != "question" {
		t.Error(b.events())
	}
}

// TestAQuestionIsAnsweredAtAnotherServer: the connection goes on where it is held, and its readers are told.
func TestAQuestionIsAnsweredAtAnotherServer(t *testing.T) {
	url := pgtest.URL(t)
	var both []*decisions
	for range 2 {
		db, err := store.Open(t.Context(), store.Config{Dir: t.TempDir(), URL: url, Cluster: true,
			Schema: pgtest.Schema(t.Name()), Log: slog.New(slog.DiscardHandler)})
		must.Do(t, err)
		both = append(both, over(t, db, time.Hour, func() string { return "r1" }))
	}
	here, there := both[0], both[1]
	q := question("t1", "a.example")
	here.Ask(q)
	first, second := here.held(t, q), here.held(t, q)
	must.Do(t, there.Answer(t.Context(), "t1", "a.example", egress.Thread))
	if !<-first || !<-second {
		t.Error("it is refused")
	}
	if got := here.events(); strings.Count(got, "answer") != 1 {
		t.Errorf("readers were told %s", got)
	}
}
