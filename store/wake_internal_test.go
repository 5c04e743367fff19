package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/store/pgtest"
	"fawn/store/postgres"
)

// ear collects what is heard.
type ear struct {
	mu    sync.Mutex
	heard []Wake
	more  chan struct{}
}

func listenTo(t *testing.T, db *DB, kind WakeKind, server int64) *ear {
	t.Helper()
	e := &ear{more: make(chan struct{}, 1)}
	t.Cleanup(db.Hear(kind, server, func(w Wake) {
		e.mu.Lock()
		e.heard = append(e.heard, w)
		e.mu.Unlock()
		select {
		case e.more <- struct{}{}:
		default:
		}
	}))
	return e
}

// until waits for a wake-up, and forgets those before.
func (e *ear) until(t *testing.T, what string, is func(Wake) bool) {
	t.Helper()
	for deadline := time.After(time.Minute); ; {
		e.mu.Lock()
		heard := e.heard
		at := slices.IndexFunc(heard, is)
		if at >= 0 {
			e.heard = heard[at+1:]
		}
		e.mu.Unlock()
		if at >= 0 {
			return
		}
		select {
		case <-e.more:
		case <-deadline:
			t.Fatalf("%s: heard only %+v", what, heard)
		}
	}
}

func all(w Wake) bool { return w.All }

func about(id string) func(Wake) bool {
	return func(w Wake) bool { return slices.Contains(w.IDs, id) }
}

// TestServersWakeEachOther: by kind, by server, with what it is about, and also inside of one.
func TestServersWakeEachOther(t *testing.T) {
	ctx := t.Context()
	a, b := openTwo(t, pgtest.URL(t))
	runs, wishes, claims := listenTo(t, b, WakeRuns, 0), listenTo(t, b, WakeWish, 0), listenTo(t, b, WakeClaim, 0)
	spaces, mine := listenTo(t, b, WakeSpace, 0), listenTo(t, b, WakeSetting, b.Self())
	here := listenTo(t, a, WakeRuns, 0)
	for _, e := range []*ear{runs, wishes, claims, spaces, mine, here} {
		e.until(t, "something may have been missed", all)
	}
	batch := Batch{Thread: &Thread{ID: "t"}, NewRun: true, Run: &Run{ID: "run", ThreadID: "t", Status: "running"},
		KV: []KV{{Owner: Global, Space: "space", Key: "key", Body: []byte("{}")}}}
	must.Do(t, a.Commit(ctx, batch))
	must.Do(t, a.Commit(ctx, Batch{Wishes: []Wish{{Run: "run", Wish: WishInterrupt}}}))
	a.Say(WakeClaim, 0, "run")
	a.Say(WakeSetting, a.Self(), "not for b")
	a.Say(WakeSetting, b.Self(), "for b")
	runs.until(t, "runs", about("t"))
	wishes.until(t, "wishes", about("run"))
	claims.until(t, "claims", about("run"))
	spaces.until(t, "spaces", about("space"))
	mine.until(t, "what is for b alone", about("for b"))
	here.until(t, "runs, where they changed", about("t"))
	mine.mu.Lock()
	defer mine.mu.Unlock()
	if len(mine.heard) > 0 {
		t.Errorf("b hears %+v", mine.heard)
	}
}

// TestTooMuchToSayIsSaidInShort: it does not fit into a notification, and whoever hears it looks at everything.
func TestTooMuchToSayIsSaidInShort(t *testing.T) {
	a, b := openTwo(t, pgtest.URL(t))
	e := listenTo(t, b, WakeRuns, 0)
	e.until(t, "something may have been missed", all)
	few := make([]string, 100)
	for i := range few {
		few[i] = fmt.Sprintf("%d-%s", i, strings.Repeat("x", 60))
	}
	a.Say(WakeRuns, 0, few...)
	e.until(t, "what fits", func(w Wake) bool { return !w.All && slices.Equal(w.IDs, few) })
	a.Say(WakeRuns, 0, strings.Repeat("\x00", 4000))
	e.until(t, "what does not fit", all)
	for i := range 1000 {
		a.Say(WakeRuns, 0, fmt.Sprintf("%d-%s", i, few[i%len(few)]))
	}
	e.until(t, "much in a moment", all)
}

// TestALostListenerLooksAtEverything, and hears again.
func TestALostListenerLooksAtEverything(t *testing.T) {
	url := pgtest.URL(t)
	a, b := openTwo(t, url)
	other := connectTo(t, url)
	e := listenTo(t, b, WakeRuns, 0)
	e.until(t, "something may have been missed", all)
	for i := range 5 {
		must.Get(other.Exec(context.Background(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE application_name = $1 AND query LIKE 'LISTEN%'`, fmt.Sprintf("fawn/%d", b.Self())))(t)
		e.until(t, "after the connection was lost", all)
		a.Say(WakeRuns, 0, fmt.Sprint(i))
		e.until(t, "it hears again", about(fmt.Sprint(i)))
	}
}

// TestServersThatPollSayNothing, and hear what happens inside.
func TestServersThatPollSayNothing(t *testing.T) {
	db := openAt(t, Config{URL: pgtest.URL(t), Cluster: true, Wake: WakePoll})
	e := listenTo(t, db, WakeRuns, 0)
	must.Do(t, db.Commit(t.Context(), Batch{Thread: &Thread{ID: "t"}}))
	e.until(t, "inside", about("t"))
	if n, err := db.Count(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()
		AND application_name LIKE 'fawn%'`); err != nil || n > 0 || !db.Polls() {
		t.Errorf("%d connections listen: %v", n, err)
	}
	if file := openAt(t, Config{}); file.Polls() {
		t.Error("a file has others to look for")
	}
}

// missed counts what was found without a hint.
type missed struct {
	NoMeter
	n atomic.Int64
}

func (m *missed) Missed() { m.n.Add(1) }

// TestHintsThatFailAreMadeUpForByLooking: PostgreSQL refuses them, as it does when its queue is full. What is written
// is written all the same and found by looking, and hints are heard again as soon as they can be said.
func TestHintsThatFailAreMadeUpForByLooking(t *testing.T) {
	ctx, server := t.Context(), pgtest.Start(t)
	admin := connectTo(t, server.URL)
	allow := func(sql string) {
		t.Helper()
		must.Get(admin.Exec(ctx, sql))(t)
	}
	allow(`CREATE ROLE plain LOGIN; GRANT CREATE ON DATABASE postgres TO plain;
		REVOKE EXECUTE ON FUNCTION pg_notify(text, text) FROM PUBLIC`)
	url := strings.Replace(server.URL, "fawn@", "plain@", 1)
	count := &missed{}
	a, b := openAt(t, Config{URL: url, Cluster: true}), openAt(t, Config{URL: url, Cluster: true, Meter: count})
	a.engine.(*postgres.Engine).Lease.Others.Store(1) // as the next renewal would find out
	e := listenTo(t, b, WakeRuns, 0)
	e.until(t, "something may have been missed", all)
	must.Get(b.Duties(ctx))(t) // looks once for that
	a.Crowded(true)
	for i := range 20 {
		id := fmt.Sprint("t", i)
		must.Do(t, a.Commit(ctx, Batch{Thread: &Thread{ID: id}, NewThread: true, NewRun: true, Line: &Line{},
			Run: &Run{ID: "run of " + id, ThreadID: id, Status: "pending"}}))
	}
	if d, err := b.Duties(ctx); err != nil || !d.Waiting {
		t.Errorf("there is %+v to do: %v", d, err)
	}
	if list, err := b.ClaimWaiting(ctx, 30); err != nil || len(list) != 20 || count.n.Load() != 1 {
		t.Errorf("found were %v, %d times without a hint: %v", list, count.n.Load(), err)
	}
	e.mu.Lock()
	if len(e.heard) > 0 {
		t.Errorf("hints were heard: %+v", e.heard)
	}
	e.mu.Unlock()
	allow(`GRANT EXECUTE ON FUNCTION pg_notify(text, text) TO PUBLIC`)
	a.Say(WakeRuns, 0, "again")
	e.until(t, "hints work again", about("again"))
}
