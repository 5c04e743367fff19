package runs_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"fawn/agent"
	"fawn/agent/runs"
)

// TestSlowAgentsHoldNoOtherStartUp: many runs whose agents take long to build, as with a server of tools that doesn't
// answer, leave room for others to begin and end.
func TestSlowAgentsHoldNoOtherStartUp(t *testing.T) {
	hang, building := make(chan struct{}), atomic.Int64{}
	w := suite{openSQLite}.openWith(t, t.TempDir(), runs.Config{Build: func(_ context.Context, s runs.Spec) (*agent.Agent, error) {
		if s.ThreadID != "quick" {
			building.Add(1)
			<-hang
		}
		return parrotAgent(), nil
	}})
	release := sync.OnceFunc(func() { close(hang) })
	defer release()
	const slow = 60
	var starts sync.WaitGroup
	for i := range slow {
		starts.Go(func() {
			if _, err := w.m.Start(t.Context(), runs.Request{Thread: fmt.Sprint("slow", i), Input: human("hello")}); err != nil {
				t.Error(err)
			}
		})
	}
	starts.Wait()
	w.end(t, w.startAs(t, "quick", "hello", ""), runs.Success)
	release()
	for i := range slow {
		list, err := w.db.Runs(t.Context(), fmt.Sprint("slow", i), "", 1, 0)
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		w.end(t, list[0], runs.Success)
	}
	if n := building.Load(); n != slow {
		t.Errorf("%d agents were built", n)
	}
}

// TestARequestThatHasEndedStartsNothing, also when there is room for it.
func TestARequestThatHasEndedStartsNothing(t *testing.T) {
	w := suite{openSQLite}.open(t, t.TempDir(), parrotAgent())
	ctx, leave := context.WithCancel(t.Context())
	leave()
	for range 20 { // a free place and the end of the request are noticed in any order
		if run, err := w.m.Start(ctx, runs.Request{Thread: "t", Input: human("hello")}); !errors.Is(err, context.Canceled) {
			t.Fatal(run.ID, err)
		}
	}
	if list, err := w.db.Runs(t.Context(), "t", "", 0, 0); len(list) != 0 {
		t.Errorf("%d runs are stored, %v", len(list), err)
	}
	w.end(t, w.startAs(t, "t", "hello", ""), runs.Success)
}

// TestARunIsAdmittedAgainWhenItBegins: runs that begin together count each other only by their ids.
func TestARunIsAdmittedAgainWhenItBegins(t *testing.T) {
	limit := errors.New("the daily limit of runs is reached")
	w := suite{openSQLite}.openWith(t, t.TempDir(), runs.Config{
		Build: func(context.Context, runs.Spec) (*agent.Agent, error) { return parrotAgent(), nil },
		Admit: func(_ context.Context, s runs.Spec) error {
			if s.RunID == "" {
				return nil
			}
			return limit
		}})
	for range 2 { // a new thread, and one that exists
		run := w.startAs(t, "t", "hello", "")
		if row, err := w.m.Wait(t.Context(), run.ID); err != nil || row.Status != "error" || !strings.Contains(row.Error, limit.Error()) {
			t.Errorf("%s %q, %v", row.Status, row.Error, err)
		}
	}
}
