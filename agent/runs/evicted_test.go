package runs_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"fawn/agent/agenttest/must"
	"fawn/agent/runs"
	"fawn/store"
	"fawn/store/pgtest"
)

// TestAnEvictedServerTellsNoEnd of a run that it had, nor of one that the server has which is there now, also where
// servers have a database one after the other.
func TestAnEvictedServerTellsNoEnd(t *testing.T) {
	url := pgtest.URL(t)
	s := suite{func(ctx context.Context, dir string) (*store.DB, error) {
		return store.Open(ctx, store.Config{Dir: dir, URL: url, Schema: pgtest.Schema(t.Name()), Log: quiet()})
	}}
	a := s.open(t, t.TempDir(), parrotAgent())
	run := a.start(t, "t1", "hang here")
	a.until(t, run, text("here"))
	before := must.Get(a.m.Follow(t.Context(), run.ID))(t)
	evict(t, url, pgtest.Schema(t.Name()))
	b := s.open(t, t.TempDir(), parrotAgent())
	other := b.start(t, "t2", "hang there")
	b.until(t, other, text("there"))
	if _, err := a.m.Follow(t.Context(), other.ID); !errors.Is(err, runs.ErrClosed) {
		t.Errorf("of a run elsewhere: %v", err)
	}
	if err := a.m.Cancel(t.Context(), "t1", run.ID, true); err != nil && !errors.Is(err, store.ErrFenced) {
		t.Error(err)
	}
	for cursor := int64(0); ; {
		evs, err := before.Next(t.Context(), cursor)
		if errors.Is(err, runs.ErrClosed) {
			break
		}
		if err != nil || len(evs) == 0 {
			t.Fatalf("who reads is told %v, %v", evs, err)
		}
		cursor = evs[len(evs)-1].To
	}
	if _, err := a.m.Follow(t.Context(), run.ID); !errors.Is(err, runs.ErrClosed) {
		t.Errorf("who comes back: %v", err)
	}
	if row, err := a.m.Wait(t.Context(), run.ID); !errors.Is(err, runs.ErrClosed) {
		t.Errorf("who waits: %s, %v", row.Status, err)
	}
	for _, r := range []store.Run{run, other} {
		must.Report(t, b.m.Cancel(t.Context(), r.ThreadID, r.ID, true))
		b.end(t, r, runs.Interrupted)
	}
}

// evict takes the rows of all servers away.
func evict(t *testing.T, url, schema string) {
	t.Helper()
	conn := must.Get(pgx.Connect(t.Context(), url))(t)
	defer conn.Close(t.Context())
	must.Get(conn.Exec(t.Context(), `DELETE FROM `+pgx.Identifier{schema, "node"}.Sanitize()))(t)
}
