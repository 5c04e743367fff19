package affinity_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"fawn/agent/agenttest/must"
	"fawn/sandbox"
	"fawn/sandbox/affinity"
	"fawn/sandbox/files"
	"fawn/sandbox/providers"
	"fawn/store"
	"fawn/store/pgtest"
)

// join is one of several servers, whose provider runs nothing.
func join(t *testing.T, url string) (*store.DB, *affinity.Places, sandbox.Provider) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	db := must.Get(store.Open(t.Context(), store.Config{Dir: t.TempDir(), URL: url, Schema: pgtest.Schema(t.Name()),
		Cluster: true, Lease: time.Minute, Log: log}))(t)
	t.Cleanup(func() { db.Close() })
	c := sandbox.DefaultConfig()
	c.Provider, c.Dirs, c.Log = sandbox.ProviderOff, files.Dirs{Root: t.TempDir()}, log
	off := must.Get(providers.New(t.Context(), c))(t)
	p := affinity.New(affinity.Config{DB: db, Dirs: c.Dirs, Log: log})
	return db, p, p.Around(off)
}

// goOn does what a server does until the test ends.
func goOn(t *testing.T, p *affinity.Places) {
	t.Helper()
	var work sync.WaitGroup
	ctx, stop := context.WithCancel(context.Background())
	work.Go(func() { p.Run(ctx) })
	t.Cleanup(func() { stop(); work.Wait() })
}

func begin(t *testing.T, db *store.DB, run string) {
	t.Helper()
	must.Do(t, db.Commit(t.Context(), store.Batch{Thread: &store.Thread{ID: "t", Owner: "u"}, NewRun: true,
		Line: &store.Line{Here: true}, Run: &store.Run{ID: run, ThreadID: "t", Status: "pending"}}))
}

func end(t *testing.T, db *store.DB, run string) {
	t.Helper()
	must.Do(t, db.Commit(t.Context(), store.Batch{ThreadID: "t",
		Run: &store.Run{ID: run, ThreadID: "t", Status: "success"}}))
}

// until waits until the sandbox of the thread is at a server, 0 for none.
func until(t *testing.T, db *store.DB, node int64) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		box := must.Get(db.Box(t.Context(), "t"))(t)
		if box.Node == node {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the sandbox is at %+v, not at %d", box, node)
		}
	}
}

// acquire is refused by the provider, behind what this package does.
func acquire(t *testing.T, p sandbox.Provider) (took time.Duration) {
	t.Helper()
	began := time.Now()
	_, err := p.Acquire(t.Context(), sandbox.ThreadRef{ID: "t"}, sandbox.DefaultPolicy())
	if !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("acquired: %v", err)
	}
	return time.Since(began)
}

// TestASandboxIsWrittenDown while it is there, however its ends and starts are told; a wish about it holds as long as
// the run does that has it, and a server that does not know of it says so.
func TestASandboxIsWrittenDown(t *testing.T) {
	url := pgtest.URL(t)
	db, p, _ := join(t, url)
	other, _, elsewhere := join(t, url)
	goOn(t, p)
	begin(t, db, "first")
	p.Kept("t", true)
	until(t, db, db.Self())
	p.Kept("t", true) // another one, before the end of the first is told
	p.Kept("t", false)
	p.Kept("t", false)
	until(t, db, 0)
	p.Kept("t", true)
	until(t, db, db.Self())

	must.Report(t, other.WishBoxAway(t.Context(), "t"))
	if list, err := db.UnwantedBoxes(t.Context()); len(list) > 0 || err != nil {
		t.Errorf("a server without a run wishes %v away: %v", list, err)
	}
	end(t, db, "first")
	begin(t, other, "second")
	done := make(chan struct{})
	go func() {
		defer close(done)
		acquire(t, elsewhere)
	}()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if list, err := db.UnwantedBoxes(t.Context()); err != nil || time.Now().After(deadline) {
			t.Fatalf("nothing is wished away: %v", err)
		} else if len(list) == 1 {
			break
		}
	}
	p.Kept("t", false) // which the provider would say
	<-done
	until(t, db, 0)
}

// restarts reports the end of a sandbox at each restart, and its reason.
type restarts struct {
	sandbox.Provider
	places  *affinity.Places
	reasons chan string
}

func (r restarts) Restart(_ context.Context, thread sandbox.ThreadRef, reason string) (bool, error) {
	r.reasons <- reason
	r.places.Kept(thread.ID, false)
	return true, nil
}

// TestASandboxTellsWhyItEnds: a project that changed isn't a conversation that goes on elsewhere.
func TestASandboxTellsWhyItEnds(t *testing.T) {
	url := pgtest.URL(t)
	db, p, off := join(t, url)
	other, _, _ := join(t, url)
	inner := restarts{off, p, make(chan string)}
	p.Around(inner)
	goOn(t, p)
	begin(t, db, "first")
	have := func() {
		t.Helper()
		p.Kept("t", true)
		until(t, db, db.Self())
	}
	ends := func(reason string) {
		t.Helper()
		select {
		case got := <-inner.reasons:
			if got != reason {
				t.Errorf("it ends as %q, not as %q", got, reason)
			}
		case <-time.After(time.Minute):
			t.Fatalf("it doesn't end as %q", reason)
		}
		until(t, db, 0)
	}
	have()
	must.Do(t, other.EndBox(t.Context(), "t"))
	ends(affinity.ProjectChanged)
	have()
	end(t, db, "first")
	begin(t, other, "second")
	must.Do(t, other.WishBoxAway(t.Context(), "t"))
	ends("the conversation goes on at another server")
	end(t, other, "second")
	begin(t, db, "third")
	have()
	end(t, db, "third")
	must.Get(db.AddFirstUser(t.Context(), store.User{Email: "a@b", Role: "owner"}))(t)
	must.Get(db.AddUser(t.Context(), store.User{ID: "u", Email: "u@b", Role: "user", Disabled: true}))(t)
	db.BarBoxes([]string{"t"})
	ends(affinity.Disabled)
}

// TestALockedThreadKeepsNoOtherSandbox: the ends of the other threads' sandboxes are requested all the same, and that
// one's as soon as its row is free.
func TestALockedThreadKeepsNoOtherSandbox(t *testing.T) {
	url := pgtest.URL(t)
	db, p, off := join(t, url)
	other, _, _ := join(t, url)
	elsewhere := affinity.New(affinity.Config{DB: other, Patience: time.Minute, Log: slog.New(slog.DiscardHandler)})
	inner := restarts{off, p, make(chan string, 2)}
	p.Around(inner)
	goOn(t, p)
	ctx := t.Context()
	for _, id := range []string{"locked", "free"} {
		must.Do(t, db.Commit(ctx, store.Batch{Thread: &store.Thread{ID: id}, NewRun: true, Line: &store.Line{Here: true},
			Run: &store.Run{ID: id, ThreadID: id, Status: "pending"}}))
		p.Kept(id, true)
	}
	at := func(id string) int64 { return must.Get(db.Box(ctx, id))(t).Node }
	until := func(id string, node int64) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); at(id) != node; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("the sandbox of %s is at %d, not at %d", id, at(id), node)
			}
		}
	}
	until("locked", db.Self())
	until("free", db.Self())
	conn := must.Get(pgx.Connect(ctx, url))(t)
	defer conn.Close(ctx)
	lock := must.Get(conn.Begin(ctx))(t)
	must.Get(lock.Exec(ctx, `SELECT 1 FROM `+pgx.Identifier{pgtest.Schema(t.Name()), "thread"}.Sanitize()+
		` WHERE id = 'locked' FOR UPDATE`))(t)
	ended := make(chan error, 1)
	go func() { ended <- elsewhere.End(ctx, []string{"locked", "free"}) }()
	until("free", 0)
	if at("locked") != db.Self() {
		t.Error("the row isn't locked")
	}
	must.Do(t, lock.Rollback(ctx))
	must.Do(t, <-ended)
	until("locked", 0)
}

// TestNobodyWaitsLongForASandbox: neither for a server that does not answer nor for one that is gone.
func TestNobodyWaitsLongForASandbox(t *testing.T) {
	url := pgtest.URL(t)
	db, _, _ := join(t, url)
	other, _, elsewhere := join(t, url)
	begin(t, db, "first")
	if there, err := db.TakeBox(t.Context(), "t"); !there || err != nil {
		t.Fatalf("%v, %v", there, err)
	}
	end(t, db, "first")
	begin(t, other, "second")
	if took := acquire(t, elsewhere); took < 5*time.Second {
		t.Errorf("it waited for %v only", took)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("nobody wants it any more")
	time.AfterFunc(time.Millisecond, func() { cancel(gone) })
	_, err := elsewhere.Acquire(ctx, sandbox.ThreadRef{ID: "t"}, sandbox.DefaultPolicy())
	if !errors.Is(err, gone) && !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("a run that was cancelled: %v", err)
	}
	must.Do(t, db.Close())
	acquire(t, elsewhere)
	if box, err := other.Box(t.Context(), "t"); box.Lives || err != nil {
		t.Errorf("the sandbox of a server that is gone: %+v, %v", box, err)
	}
}
