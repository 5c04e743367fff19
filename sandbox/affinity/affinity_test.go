package affinity_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

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
	must.Do(t, db.Commit(t.Context(), store.Batch{Thread: &store.Thread{ID: "t"}, NewRun: true,
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
