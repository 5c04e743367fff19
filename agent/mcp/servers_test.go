package mcp_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/agent/clusterstate"
	"fawn/agent/mcp"
	"fawn/store"
	"fawn/store/pgtest"
)

// among is the pool of one of several servers that share a database.
func among(t *testing.T, url string, servers ...mcp.Server) *world {
	t.Helper()
	dir := t.TempDir()
	db := must.Get(store.Open(t.Context(), store.Config{Dir: filepath.Join(dir, "db"), URL: url, Schema: "mcp",
		Cluster: true, Log: slog.New(slog.DiscardHandler)}))(t)
	t.Cleanup(func() { must.Report(t, db.Close()) })
	keys := must.Get(clusterstate.ParseKeys("a key of all servers that is long enough"))(t)
	rows := must.Get(clusterstate.Open(t.Context(), db, keys, slog.New(slog.DiscardHandler)))(t)
	w := &world{t: t, dir: dir, logs: &buffer{}}
	o := optionsIn(dir, slog.New(slog.NewTextHandler(w.logs, nil)))
	o.Rows = rows
	w.Pool = mcp.New(o)
	ctx, stop := context.WithCancel(context.Background())
	var run sync.WaitGroup
	run.Go(func() { rows.Run(ctx) })
	t.Cleanup(func() {
		must.Report(t, w.Close())
		stop()
		run.Wait()
	})
	w.Set(servers)
	return w
}

// TestALoginIsEndedAtAnotherServer: whichever the browser comes back to exchanges the code, once; all have the token,
// renew it one after the other, and are logged out together.
func TestALoginIsEndedAtAnotherServer(t *testing.T) {
	a := newAuthority(t)
	url := pgtest.URL(t)
	one, two := among(t, url, a.server()), among(t, url, a.server())
	one.state("h", mcp.StateLogin)
	two.state("h", mcp.StateLogin)
	to := must.Get(one.Login(t.Context(), "h", callback))(t)
	answer := a.consent(to)
	var ends sync.WaitGroup
	var mu sync.Mutex
	good, gone := 0, 0
	for _, w := range []*world{one, two, one, two} {
		ends.Go(func() {
			_, err := w.FinishLogin(t.Context(), answer)
			mu.Lock()
			defer mu.Unlock()
			switch err {
			case nil:
				good++
			case mcp.ErrLoginGone:
				gone++
			default:
				t.Error(err)
			}
		})
	}
	ends.Wait()
	if good != 1 || gone != 3 {
		t.Fatalf("the login ended %d times, and was gone %d times", good, gone)
	}
	for _, w := range []*world{one, two} {
		w.state("h", mcp.StateReady)
		if got := w.says("t", "h_echo", "in"); got != "in" {
			t.Errorf("echo says %q", got)
		}
	}

	a.revoke(false) // both find out at the same time, and a refresh token is good for one of them
	a.mu.Lock()
	before := len(a.forms)
	a.mu.Unlock()
	var calls sync.WaitGroup
	for _, w := range []*world{one, two, one, two} {
		calls.Go(func() {
			if r := w.call("t", "h_echo", "renewed"); r.IsError || r.Content.Text != "renewed" {
				t.Errorf("echo says %q", r.Content.Text)
			}
		})
	}
	calls.Wait()
	a.mu.Lock()
	if n := len(a.forms) - before; n != 1 {
		t.Errorf("the token was renewed %d times", n)
	}
	a.mu.Unlock()

	must.Do(t, one.Logout("h"))
	one.state("h", mcp.StateLogin)
	two.state("h", mcp.StateLogin)
	one.noCanary()
	two.noCanary()
}

// TestToolsAreApprovedAtAnotherServer: what one finds changed is withheld at all, and approved for all.
func TestToolsAreApprovedAtAnotherServer(t *testing.T) {
	url := pgtest.URL(t)
	h := overHTTP(t, newServer(), nil)
	one, two := among(t, url, h), among(t, url, h)
	one.state("h", mcp.StateReady)
	two.state("h", mcp.StateReady)
	one.says("t", "h_grows", "as it was")
	one.has("h_grown")
	two.has("h_grown")
	one.says("t", "h_grows", "as it is now")
	for _, w := range []*world{one, two} {
		until(t, "the tool's being withheld", func() bool { // it is offered for a moment after it is said to be
			return len(w.status("h").Withheld) == 1 && !slices.Contains(w.names(), "h_grown")
		})
	}
	must.Do(t, two.Approve("h"))
	for _, w := range []*world{two, one} {
		if got := w.has("h_grown").Description; got != "as it is now" {
			t.Errorf("the tool is described as %q", got)
		}
	}
}
