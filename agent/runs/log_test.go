package runs_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/runs"
	"fawn/agent/runs/runevent"
)

// bigAgent answers with rounds of tool calls, more text than a live log keeps in memory.
func bigAgent(rounds int, gate <-chan struct{}) *agent.Agent {
	call := 0
	return &agent.Agent{Tools: []*agent.Tool{agenttest.Echo("echo")},
		Model: modelOf(func(ctx context.Context, _ *agent.Request, yield func(agent.Chunk, error) bool) {
			call++
			if call == rounds-1 { // the rest comes when the test says so
				select {
				case <-gate:
				case <-ctx.Done():
				}
			}
			for i := range 20 {
				if !yield(agent.Chunk{Text: fmt.Sprintf("%d.%d ", call, i) + strings.Repeat("x", 40<<10)}, nil) {
					return
				}
			}
			if call < rounds {
				yield(agent.Chunk{Calls: []agent.CallDelta{{ID: fmt.Sprint("c", call), Name: "echo", Args: `{"n":1}`}}},
					nil)
			}
			yield(agent.Chunk{Finish: "stop"}, nil)
		})}
}

// EveryReaderSeesTheSameSequence opens readers at random cursors, fast and slow ones,
// while a run writes more than its log keeps: all see what the rows hold in the end.
func (s suite) EveryReaderSeesTheSameSequence(t *testing.T) {
	gate := make(chan struct{})
	w := s.openWith(t, t.TempDir(),
		runs.Config{Build: func(context.Context, runs.Spec) (*agent.Agent, error) { return bigAgent(9, gate), nil }})
	warm := w.startAs(t, "t1", "before", "") // so that cursors are not those of a fresh thread
	close(gate)
	w.end(t, warm, runs.Success)
	gate = make(chan struct{})
	run := w.startAs(t, "t1", "go", "")

	type seen struct {
		after int64
		lines []string
		err   error
	}
	var wg sync.WaitGroup
	results := make([]seen, 16)
	follow := func(i int, after int64, pause time.Duration) {
		wg.Go(func() {
			res := &results[i]
			res.after = after
			r, err := w.m.Follow(t.Context(), run.ID)
			if err != nil {
				res.err = err
				return
			}
			for {
				evs, err := r.Next(t.Context(), after)
				if err != nil || evs == nil {
					res.err = err
					return
				}
				res.lines = append(res.lines, allLines(evs)...)
				after = evs[len(evs)-1].To
				time.Sleep(pause)
			}
		})
	}
	row, _ := w.db.Run(t.Context(), warm.ID)
	rnd := rand.New(rand.NewPCG(3, 4))
	for i := range 8 {
		follow(i, rnd.Int64N(row.LastSeq+150), time.Duration(i%4)*3*time.Millisecond)
	}
	// The run stands still once most is written; these start with old events gone.
	w.until(t, run, text("7.19 "))
	for !w.m.Dropped(run.ID) {
		time.Sleep(time.Millisecond)
	}
	for i := 8; i < 16; i++ {
		follow(i, rnd.Int64N(row.LastSeq+250)-1, time.Duration(i%4)*3*time.Millisecond)
	}
	close(gate)
	w.end(t, run, runs.Success)
	wg.Wait()
	all := w.read(t, run.ID, 0)
	if all[0].Seq != row.LastSeq+1 || all[len(all)-1].Kind != runevent.KindEnd {
		t.Fatalf("the run is read from %d (%d ends the run before) to kind %d", all[0].Seq, row.LastSeq,
			all[len(all)-1].Kind)
	}
	for _, r := range results {
		if want := allLines(past(all, r.after)); r.err != nil || !slices.Equal(r.lines, want) {
			t.Errorf("after %d: %d events, want %d; %v", r.after, len(r.lines), len(want), r.err)
		}
	}
	w.sound(t)
}

// CursorsBeforeTheRunMeanItsFirstEvent reads the second run of a thread, live and
// ended, with cursors of no use.
func (s suite) CursorsBeforeTheRunMeanItsFirstEvent(t *testing.T) {
	w := s.open(t, t.TempDir(), parrotAgent())
	w.end(t, w.start(t, "t1", "one"), runs.Success)
	run := w.start(t, "t1", "hang")
	w.until(t, run, text("hang"))
	r := must.Get(w.m.Follow(t.Context(), run.ID))(t)
	for _, after := range []int64{-1, 0, 3, -1 << 40} {
		evs, err := r.Next(t.Context(), after)
		if err != nil || len(evs) == 0 || evs[0].Kind != runevent.KindMeta ||
			!strings.Contains(string(evs[0].Data), run.ID) {
			t.Errorf("live, after %d: %v %v", after, allLines(evs), err)
		}
		if evs, err := r.Ready(t.Context(), after); err != nil || len(evs) == 0 || evs[0].Kind != runevent.KindMeta {
			t.Errorf("ready, after %d: %v %v", after, allLines(evs), err)
		}
	}
	must.Do(t, w.m.Cancel(t.Context(), "", run.ID, true))
	want := allLines(w.read(t, run.ID, 0))
	for _, after := range []int64{-1, 3, -1 << 40} {
		if got := allLines(w.read(t, run.ID, after)); !slices.Equal(got, want) {
			t.Errorf("ended, after %d: %v", after, got)
		}
	}
	if evs := w.read(t, run.ID, 1<<40); evs != nil {
		t.Errorf("past the end: %v", allLines(evs))
	}
}

// CursorInsideAStepShowsTheStepAgain: a step covers several frames, and a reader may
// have got only some of them.
func (s suite) CursorInsideAStepShowsTheStepAgain(t *testing.T) {
	w := s.open(t, t.TempDir(), parrotAgent())
	run := w.start(t, "t1", "hang")
	w.until(t, run, text("hang"))
	live, _ := w.m.Follow(t.Context(), run.ID)
	check := func(name string, next func(after int64) []runevent.Event) {
		t.Helper()
		all := next(0)
		for _, e := range all {
			for at := e.Seq; at < e.To; at++ {
				if got := next(at); len(got) == 0 || line(got[0]) != line(e) {
					t.Errorf("%s, after %d: %v, want %s", name, at, allLines(got), line(e))
				}
			}
		}
	}
	check("live", func(after int64) []runevent.Event {
		evs := must.Get(live.Next(t.Context(), after))(t)
		return evs
	})
	must.Do(t, w.m.Cancel(t.Context(), "", run.ID, true))
	check("ended", func(after int64) []runevent.Event { return w.read(t, run.ID, after) })
}

// ReaderOfAQueuedRunWaitsForIt opens a reader before the run begins and one exactly
// when it ends.
func (s suite) ReaderOfAQueuedRunWaitsForIt(t *testing.T) {
	w := s.open(t, t.TempDir(), parrotAgent())
	first := w.start(t, "t1", "hang")
	queued := w.start(t, "t1", "next")
	r := must.Get(w.m.Follow(t.Context(), queued.ID))(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if evs, err := r.Next(ctx, -1); err == nil {
		t.Fatalf("a queued run shows %v", allLines(evs))
	}
	if evs, err := r.Ready(t.Context(), -1); err != nil || len(evs) > 0 {
		t.Fatalf("a queued run has %v ready, %v", allLines(evs), err)
	}
	late := make(chan []string)
	go func() {
		w.m.Wait(t.Context(), first.ID) // between the end of the first and the start of the next
		var got []string
		r, err := w.m.Follow(t.Context(), queued.ID)
		for after := int64(-1); err == nil; {
			evs, err := r.Next(t.Context(), after)
			if err != nil || evs == nil {
				break
			}
			got, after = append(got, allLines(evs)...), evs[len(evs)-1].To
		}
		late <- got
	}()
	must.Do(t, w.m.Cancel(t.Context(), "", first.ID, true))
	var got []string
	for after := int64(-1); ; {
		evs := must.Get(r.Next(t.Context(), after))(t)
		if evs == nil {
			break
		}
		got, after = append(got, allLines(evs)...), evs[len(evs)-1].To
	}
	want := allLines(w.read(t, queued.ID, 0))
	if !slices.Equal(got, want) || !slices.Equal(<-late, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// ReadersOpenedWhileARunEndsMissNothing races readers with the end of many runs.
func (s suite) ReadersOpenedWhileARunEndsMissNothing(t *testing.T) {
	w := s.open(t, t.TempDir(), parrotAgent())
	for i := range 30 {
		run := w.start(t, "t1", fmt.Sprint("number ", i))
		var wg sync.WaitGroup
		got := make([][]string, 4)
		for k := range got {
			wg.Go(func() {
				time.Sleep(time.Duration(rand.IntN(3000)) * time.Microsecond)
				r, err := w.m.Follow(t.Context(), run.ID)
				for after := int64(0); err == nil; {
					evs, err := r.Next(t.Context(), after)
					if err != nil || evs == nil {
						break
					}
					got[k], after = append(got[k], allLines(evs)...), evs[len(evs)-1].To
				}
			})
		}
		wg.Wait()
		want := allLines(w.read(t, run.ID, 0))
		for k := range got {
			if !slices.Equal(got[k], want) {
				t.Fatalf("run %d, reader %d: %v, want %v", i, k, got[k], want)
			}
		}
		w.end(t, run, runs.Success)
	}
	w.sound(t)
}
