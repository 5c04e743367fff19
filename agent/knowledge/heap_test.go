package knowledge_test

import (
	"runtime"
	"runtime/metrics"
	"testing"
	"time"
)

// watchHeap looks how much memory the heap takes until the function that it returns is called, which tells the most.
func watchHeap(b *testing.B) func() uint64 {
	b.Helper()
	runtime.GC()
	stop, most := make(chan struct{}), make(chan uint64)
	go func() {
		peak := uint64(0)
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		for ticker := time.NewTicker(20 * time.Millisecond); ; {
			metrics.Read(sample)
			peak = max(peak, sample[0].Value.Uint64())
			select {
			case <-ticker.C:
			case <-stop:
				ticker.Stop()
				most <- peak
				return
			}
		}
	}()
	return func() uint64 {
		close(stop)
		return <-most
	}
}
