package runs_test

import (
	"context"
	"sync"
	"testing"

	"fawn/agent"
	"fawn/agent/runs"
	"fawn/agent/runs/runevent"
)

// BenchmarkToken counts what a token of a model takes until its reader has it: recording, storing and waking, without
// HTTP on either side. Its commits depend on the time it takes, so compare allocations of runs of similar length.
func BenchmarkToken(b *testing.B) {
	for _, readers := range []int{0, 1, 8} {
		b.Run(map[int]string{0: "unread", 1: "read", 8: "by_eight"}[readers], func(b *testing.B) {
			n := b.N
			speak := &agent.Agent{Model: modelOf(func(_ context.Context, _ *agent.Request,
				yield func(agent.Chunk, error) bool) {
				for range n {
					if !yield(agent.Chunk{Text: "lorem "}, nil) {
						return
					}
				}
				yield(agent.Chunk{Finish: "stop"}, nil)
			})}
			db, err := openSQLite(b.Context(), b.TempDir())
			if err != nil {
				b.Fatal(err)
			}
			defer db.Close()
			m := runs.New(runs.Config{DB: db, Log: quiet(), Build: always(speak)})
			defer m.Close()
			if err := m.Recover(b.Context()); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.ResetTimer()
			cpu := cpuTime()
			run, err := m.Start(b.Context(), runs.Request{Thread: "t", Input: human("go")})
			if err != nil {
				b.Fatal(err)
			}
			var wg sync.WaitGroup
			for range readers {
				wg.Go(func() {
					r, err := m.Follow(b.Context(), run.ID)
					for after := int64(0); err == nil; {
						var evs []runevent.Event
						if evs, err = r.Next(b.Context(), after); len(evs) == 0 {
							break
						}
						after = evs[len(evs)-1].To
					}
					if err != nil {
						b.Error(err)
					}
				})
			}
			wg.Wait()
			if _, err := m.Wait(b.Context(), run.ID); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64((cpuTime()-cpu).Nanoseconds())/float64(n), "cpu-ns/token")
		})
	}
}
