package runs_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/runs"
	"fawn/agent/runs/runevent"
	"fawn/store"
	"fawn/store/pgtest"
)

// BenchmarkTokenElsewhere measures how old tokens are when a reader has them, at the server of the run and at another,
// and what they cost both servers together: 20 runs at 50 tokens a second.
func BenchmarkTokenElsewhere(b *testing.B) {
	for _, at := range []string{"here", "elsewhere"} {
		b.Run(at, func(b *testing.B) { tokenElsewhere(b, at == "elsewhere") })
	}
}

func tokenElsewhere(b *testing.B, elsewhere bool) {
	const lanes, every = 20, 20 * time.Millisecond
	perRun := max(50, b.N/lanes)
	speak := &agent.Agent{Model: modelOf(func(ctx context.Context, _ *agent.Request,
		yield func(agent.Chunk, error) bool) {
		next := time.NewTicker(every)
		defer next.Stop()
		for range perRun {
			<-next.C
			if !yield(agent.Chunk{Text: strconv.FormatInt(time.Now().UnixNano(), 10)}, nil) {
				return
			}
		}
		yield(agent.Chunk{Finish: "stop"}, nil)
	})}
	url := pgtest.URL(b)
	var all []*runs.Manager
	for range 2 {
		db := must.Get(store.Open(b.Context(), store.Config{Dir: b.TempDir(), URL: url, Cluster: true, Log: quiet()}))(b)
		m := runs.New(runs.Config{DB: db, Log: quiet(), Build: always(speak)})
		must.Do(b, m.Recover(b.Context()))
		defer db.Close()
		defer m.Close()
		all = append(all, m)
	}
	time.Sleep(4 * time.Second) // until both know that there are others
	reader := all[0]
	if elsewhere {
		reader = all[1]
	}
	var mu sync.Mutex
	var ages []time.Duration
	var wg sync.WaitGroup
	b.ResetTimer()
	cpu := cpuTime()
	for i := range lanes {
		run := must.Get(all[0].Start(b.Context(), runs.Request{Thread: fmt.Sprint("t", i), Input: human("go")}))(b)
		wg.Go(func() {
			mine := readAges(b, reader, run.ID)
			mu.Lock()
			ages = append(ages, mine...)
			mu.Unlock()
		})
	}
	wg.Wait()
	if len(ages) == 0 {
		b.Fatal("no tokens")
	}
	b.ReportMetric(float64((cpuTime()-cpu).Microseconds())/float64(len(ages)), "cpu-us/token")
	slices.Sort(ages)
	for _, p := range []int{50, 99} {
		b.ReportMetric(float64(ages[len(ages)*p/100].Microseconds())/1000, fmt.Sprintf("p%d-ms", p))
	}
}

// readAges reads a run to its end, and says how old its tokens were.
func readAges(b *testing.B, m *runs.Manager, run string) (ages []time.Duration) {
	r, err := m.Follow(b.Context(), run)
	if err != nil {
		b.Error(err)
		return nil
	}
	for after := int64(0); ; {
		evs, err := r.Next(b.Context(), after)
		if err != nil || len(evs) == 0 {
			if err != nil {
				b.Error(err)
			}
			return ages
		}
		now := time.Now()
		for _, ev := range evs {
			at, err := strconv.ParseInt(strings.TrimSpace(ev.Text), 10, 64)
			if err == nil && ev.Kind == runevent.KindText {
				ages = append(ages, now.Sub(time.Unix(0, at)))
			}
		}
		after = evs[len(evs)-1].To
	}
}
