package postgres

import (
	"testing"
	"time"

	"fawn/store/pgtest"
	"fawn/store/wake"
)

// openServer opens an engine that hears others.
func openServer(t *testing.T, url string) (*Engine, *wake.Hub) {
	t.Helper()
	e := openEngine(t, Config{URL: url, Cluster: true})
	hub := wake.New(e.Self())
	e.Listen(hub, true)
	t.Cleanup(hub.Close)
	return e, hub
}

// TestTheTailIsAnnouncedToWhoeverReadsIt: each reader of a thread gets the announcement, other threads get none.
func TestTheTailIsAnnouncedToWhoeverReadsIt(t *testing.T) {
	url := pgtest.URL(t)
	a, hubOfA := openServer(t, url)
	b, hubOfB := openServer(t, url)
	for _, e := range []*Engine{a, b} {
		e.Lease.Others.Store(1) // as the next renewal would find out
	}
	missed, heard, hears := make(chan bool, 100), make(chan bool, 100), make(chan bool, 100)
	hubOfB.Hear(wake.Topic{Kind: wake.Tail, Server: a.Self()}, func(h wake.Hint) {
		if h.All {
			missed <- true
		} else {
			heard <- true
		}
	})
	hubOfA.Hear(wake.Topic{Kind: wake.Runs}, func(wake.Hint) { hears <- true })
	until := func(what string, c chan bool) {
		t.Helper()
		select {
		case <-c:
		case <-time.After(time.Minute):
			t.Fatalf("%s: not within a minute", what)
		}
	}
	until("something may have been missed", missed)
	until("a hears", hears)
	wire := hubOfA.Over().(*wakeWire)
	said := func() bool {
		wire.Wrote()
		wire.mu.Lock()
		defer wire.mu.Unlock()
		return wire.pending[wake.Topic{Kind: wake.Tail, Server: a.Self()}] != nil
	}
	if said() {
		t.Error("said, while nobody reads")
	}
	hubOfB.Say(wake.Topic{Kind: wake.Follow, Server: a.Self()})
	for deadline := time.Now().Add(time.Minute); wire.followed.Load() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a does not hear that b reads its tail")
		}
	}
	hubOfA.Wrote()
	until("a has written", heard)
	wire.followed.Store(1)
	if said() {
		t.Error("said, after nobody reads any more")
	}
}
