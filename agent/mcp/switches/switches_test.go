package switches_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/agent/mcp/switches"
	"fawn/store"
)

func open(t *testing.T) *switches.Service {
	t.Helper()
	db := must.Get(store.Open(t.Context(), store.Config{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)}))(t)
	t.Cleanup(func() { must.Report(t, db.Close()) })
	return switches.New(db)
}

func get(t *testing.T, s *switches.Service, thread string) switches.Off {
	t.Helper()
	o := must.Get(s.Off(t.Context(), thread))(t)
	return o
}

// TestChangesAtTheSameTime: none is lost, and what is switched on again leaves nothing behind.
func TestChangesAtTheSameTime(t *testing.T) {
	s := open(t)
	all := func(on bool) {
		var work sync.WaitGroup
		for i := range 20 {
			work.Go(func() {
				_, err := s.Change(t.Context(), "one", func(o *switches.Off) {
					o.Turn("a", fmt.Sprintf("t%02d", i), on)
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		work.Wait()
	}
	all(false)
	got := get(t, s, "one").Tools["a"]
	if len(got) != 20 || !slices.IsSorted(got) {
		t.Errorf("off are %q", got)
	}
	all(true)
	if o := get(t, s, "one"); !o.Empty() {
		t.Errorf("still off: %+v", o)
	}
}

// TestServersAndTools: a server that is off has no tool, and its tools keep their own switches.
func TestServersAndTools(t *testing.T) {
	s := open(t)
	turn := func(server, tool string, on bool) switches.Off {
		t.Helper()
		o := must.Get(s.Change(t.Context(), "one", func(o *switches.Off) { o.Turn(server, tool, on) }))(t)
		return o
	}
	turn("a", "x", false)
	if o := turn("a", "", false); !o.Has("a", "x") || !o.Has("a", "y") || o.Has("b", "x") || o.HasTool("a", "y") {
		t.Errorf("a server that is off: %+v", o)
	}
	if o := turn("a", "", true); !o.Has("a", "x") || o.Has("a", "y") {
		t.Errorf("a server that is on again: %+v", o)
	}
	if err := s.Copy(context.Background(), "one", "two"); err != nil || !get(t, s, "two").Has("a", "x") {
		t.Errorf("a copy: %v", err)
	}
	if _, err := s.Change(t.Context(), "one",
		func(o *switches.Off) { o.Turn(strings.Repeat("n", 300<<10), "", false) }); err != switches.ErrTooMany {
		t.Errorf("more than is stored: %v", err)
	}
}
