package runs_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/runs"
	"fawn/agent/runs/runevent"
	"fawn/web/e2e/gate"
)

// manyThreads is how many threads the child of TestManyCutRunsAreTakenUpAtOnce has at work.
func manyThreads() int { return gate.Pick(50, 200, 1000) }

// cutMany starts runs on many threads, which all say a word and hang, and says "hangs" once
// all words are shown.
func cutMany(dir string) error {
	ctx := context.Background()
	db, err := openSQLite(ctx, dir)
	if err != nil {
		return err
	}
	m := runs.New(runs.Config{DB: db, Log: quiet(), Build: func(context.Context, runs.Spec) (*agent.Agent, error) {
		return parrotAgent(), nil
	}})
	errs := make([]error, manyThreads())
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			run, err := m.Start(ctx, runs.Request{Thread: fmt.Sprint("t", i), Input: human("hang here")})
			if err != nil {
				errs[i] = err
				return
			}
			r, err := m.Follow(ctx, run.ID)
			for after := int64(0); err == nil; {
				var evs []runevent.Event
				if evs, err = r.Next(ctx, after); err == nil && evs == nil {
					err = fmt.Errorf("run %s ended, and it was to hang", run.ID)
				}
				for _, e := range evs {
					if after = e.To; text("here")(e) {
						return
					}
				}
			}
			errs[i] = err
		})
	}
	wg.Wait()
	if err := firstOf(errs...); err != nil {
		return err
	}
	fmt.Println("hangs")
	select {}
}

// TestManyCutRunsAreTakenUpAtOnce: a thousand threads were at work when the server died, fewer
// in short. The next one is ready after less than two seconds of work, whether it goes on with them or closes them.
func TestManyCutRunsAreTakenUpAtOnce(t *testing.T) {
	for _, mark := range []bool{true, false} {
		t.Run(fmt.Sprint("mark ", mark), func(t *testing.T) {
			dir := t.TempDir()
			cut(t, dir, "many")
			db := must.Get(openSQLite(t.Context(), dir))(t)
			begin, used := time.Now(), cpuTime()
			m := runs.New(runs.Config{DB: db, Log: quiet(), Mark: mark,
				Build: func(context.Context, runs.Spec) (*agent.Agent, error) {
					return &agent.Agent{Model: modelOf(func(_ context.Context, _ *agent.Request, yield func(agent.Chunk,
						error) bool) {
						yield(agent.Chunk{Text: "whole"}, nil)
					})}, nil
				}})
			w := &world{db: db, m: m, dir: dir}
			t.Cleanup(w.close)
			must.Do(t, m.Recover(t.Context()))
			took, used := time.Since(begin), cpuTime()-used
			t.Logf("%d runs that were cut off: ready after %v, %v of them at work", manyThreads(),
				took.Round(time.Millisecond), used.Round(time.Millisecond))
			// what others do on the machine does not count
			if gate.Soaking() && !raceDetector && used > 2*time.Second {
				t.Errorf("it took %v of work", used)
			}
			want := runs.Success
			if mark {
				want = runs.Interrupted
			}
			for i := range manyThreads() {
				w.end(t, w.only(t, fmt.Sprint("t", i)), want)
			}
			for i := range manyThreads() {
				must.Do(t, w.quiesce(t, fmt.Sprint("t", i)))
			}
			w.sound(t)
		})
	}
}
