//go:build unix

package store_test

import (
	"fmt"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"fawn/store"
)

func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkTail200 measures deltas of 30 bytes on 200 lanes, each folded every
// 1,000 deltas: at 10,000 a second, as 200 answers at 50 tokens a second come,
// and as fast as the writer takes them. The cost is cpu-ns/delta, without what
// the pacing itself costs.
func BenchmarkTail200(b *testing.B) {
	for _, c := range []struct {
		name  string
		every time.Duration
	}{{"paced", 100 * time.Microsecond}, {"flat-out", 0}} {
		b.Run(c.name, func(b *testing.B) { tail200(b, c.every) })
	}
}

func tail200(b *testing.B, every time.Duration) {
	const lanes, tick = 200, 10
	db := open(b)
	ids := make([]string, lanes)
	list := make([]*store.Lane, lanes)
	for i := range list {
		ids[i] = fmt.Sprintf("0197c0de-0000-7000-8000-%012d", i)
		newThread(b, db, ids[i])
		list[i] = db.OpenLane(ids[i], func(int64) {})
	}
	data := []byte(`{"text":"a few words of text"}`)
	folded := make([]byte, 1000*10) // what 1,000 deltas leave of content
	var pacing time.Duration
	if every > 0 {
		cpu, start := cpuTime(b), time.Now()
		for i := 0; i < b.N; i += tick {
			time.Sleep(time.Until(start.Add(time.Duration(i) * every)))
		}
		pacing = cpuTime(b) - cpu
	}
	var wg sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	cpu, start := cpuTime(b), time.Now()
	for i := range b.N {
		lane, seq := i%lanes, int64(i/lanes+1)
		l := list[lane]
		l.Append(seq, data)
		if i%tick == 0 {
			time.Sleep(time.Until(start.Add(time.Duration(i) * every)))
			if err := l.Wait(b.Context(), 4096); err != nil {
				b.Fatal(err)
			}
		}
		if (seq+int64(lane)*5)%1000 == 0 { // spread, as steps of different runs are
			wg.Go(func() {
				err := l.Commit(b.Context(),
					store.Batch{ThreadID: ids[lane],
						Events: []store.Event{{Seq: max(1, seq-999), To: seq, Data: folded}}})
				if err != nil {
					b.Error(err)
				}
			})
		}
	}
	wg.Wait()
	for _, l := range list {
		flush(b, l)
	}
	b.ReportMetric(float64((cpuTime(b)-cpu-pacing).Nanoseconds())/float64(b.N), "cpu-ns/delta")
}

// BenchmarkAppend64 measures how long a delta of 64 runs takes to be durable, when each of
// them has 200 a second: p99-ms, which is to stay below 20.
func BenchmarkAppend64(b *testing.B) {
	const lanes, rate = 64, 200
	db := open(b)
	var mu sync.Mutex
	var took []float64
	var wg sync.WaitGroup
	data := []byte(`{"text":"a few words of text"}`)
	perLane := b.N/lanes + 1
	b.ResetTimer()
	for i := range lanes {
		id := fmt.Sprintf("0197c0de-0000-7000-8000-%012d", i)
		newThread(b, db, id)
		at := make([]time.Time, perLane+2) // by number
		told := int64(0)
		l := db.OpenLane(id, func(seq int64) {
			now := time.Now()
			mu.Lock()
			defer mu.Unlock()
			for ; told < seq; told++ {
				took = append(took, float64(now.Sub(at[told+1]))/1e6)
			}
		})
		wg.Go(func() {
			start := time.Now()
			for n := range perLane {
				time.Sleep(time.Until(start.Add(time.Duration(n) * time.Second / rate)))
				mu.Lock()
				at[n+1] = time.Now()
				mu.Unlock()
				l.Append(int64(n+1), data)
			}
			flush(b, l)
		})
	}
	wg.Wait()
	slices.Sort(took)
	b.ReportMetric(took[len(took)*99/100], "p99-ms")
	b.ReportMetric(took[len(took)/2], "p50-ms")
}
