package runs_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fawn/agent"
	"fawn/agent/runs"
	"fawn/agent/runs/runevent"
	"fawn/store"
	"fawn/web/e2e/gate"
)

// TestRunsWaitForADiskThatStandsStill: what is being written when it stops is answered when it goes on, and so is all
// that comes meanwhile. Each run ends well and once, and no number is given twice.
func TestRunsWaitForADiskThatStandsStill(t *testing.T) {
	t.Parallel()                                                       // it waits by the clock, as those who would give up do
	freeze := gate.Pick(12*time.Second, 60*time.Second, 3*time.Minute) // longer than requests wait
	var back atomic.Pointer[time.Time]
	s := suite{func(ctx context.Context, dir string) (*store.DB, error) {
		return store.Open(ctx, store.Config{Dir: dir, Log: quiet(), Committed: func(time.Duration, error) {
			if at := back.Load(); at != nil {
				time.Sleep(time.Until(*at))
			}
		}})
	}}
	const threads = 4
	var calls atomic.Int64
	var arrived sync.WaitGroup
	arrived.Add(threads)
	look := &agent.Tool{Name: "look", Run: func(context.Context, *agent.Turn, agent.ToolCall) (agent.Result, error) {
		calls.Add(1)
		arrived.Done()
		arrived.Wait() // all of them are in the midst of their work
		at := time.Now().Add(freeze)
		back.CompareAndSwap(nil, &at)
		return agent.TextResult("seen"), nil
	}}
	model := modelOf(func(_ context.Context, req *agent.Request, yield func(agent.Chunk, error) bool) {
		if req.Messages[len(req.Messages)-1].Type == agent.TypeTool {
			yield(agent.Chunk{Text: "done", Finish: "stop"}, nil)
			return
		}
		yield(agent.Chunk{Text: "let me look", Calls: []agent.CallDelta{{ID: "c1", Name: "look", Args: "{}"}},
			Finish: "tool_calls"}, nil)
	})
	w := s.open(t, t.TempDir(), &agent.Agent{Model: model, Tools: []*agent.Tool{look}})
	var started []store.Run
	for i := range threads {
		started = append(started, w.start(t, fmt.Sprint("t", i), "hi"))
	}
	for _, run := range started {
		w.end(t, run, runs.Success)
		ends := 0
		evs := w.read(t, run.ID, 0)
		for i, e := range evs {
			if e.Kind == runevent.KindEnd {
				ends++
			}
			if i > 0 && e.Seq <= evs[i-1].To {
				t.Errorf("number %d of %s was given twice", e.Seq, run.ThreadID)
			}
		}
		if ends != 1 || evs[len(evs)-1].Kind != runevent.KindEnd {
			t.Errorf("%d ends: %s", ends, shape(evs))
		}
	}
	if at := back.Load(); at == nil || time.Now().Before(*at) {
		t.Error("they didn't wait for the disk")
	}
	if n := calls.Load(); n != threads {
		t.Errorf("the tool worked %d times", n)
	}
	if now, times := w.db.Slow(); now != 0 || times == 0 {
		t.Errorf("the store waits for %v, and has been slow %d times", now, times)
	}
	w.sound(t)
}
