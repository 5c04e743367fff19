// Package memlimit sets how much memory the program takes: how far its heap grows before it is collected, and when
// memory returns to the system. Caches belong to their packages.
package memlimit

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

const (
	// heapFloor is the size in bytes below which memory is not collected while there is
	// work. A collection costs what is alive, and little is: with 10 MB alive Go would
	// collect after every 10 MB handed out, many times a second under load.
	heapFloor = 36 << 20

	heapGrowth = 60 // percent that a larger heap grows by before it is collected; Go's own is 100

	calmEach  = 2 * time.Second // how often it is asked whether work is over
	calmBytes = 512 << 10       // at most so much was handed out since, when it is
	worthIt   = 2 << 20         // and so much since memory was given back

	worthDropping = 4 << 20  // bytes of the program file that came in since its pages were dropped
	plentyOfFiles = 28 << 20 // bytes of files in memory that are too many in any case
)

// Keep sets how often memory is collected and how much there may be, and gives it back to the
// system when nothing goes on, after rest has let go of what is not needed then, until the function
// it returns is called. If GOGC is set, it does nothing; GOMEMLIMIT replaces its limit.
func Keep(ctx context.Context, rest func()) (stop func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var mu sync.Mutex // a collection under way must not have the last word
	over := false
	before := debug.SetGCPercent(collectAfter(0, 0))
	limit := debug.SetMemoryLimit(-1)
	bounded := os.Getenv("GOMEMLIMIT") == ""
	onCollection(func() bool {
		mu.Lock()
		defer mu.Unlock()
		if over {
			return false
		}
		live := heapMetric("/gc/heap/live:bytes")
		debug.SetGCPercent(collectAfter(live, heapMetric("/gc/scan/stack:bytes")+heapMetric("/gc/scan/globals:bytes")))
		if bounded {
			debug.SetMemoryLimit(memoryFor(live, otherMemory()))
		}
		return true
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		giveBack(ctx, calmEach, rest)
	}()
	return func() {
		cancel()
		<-done
		mu.Lock()
		defer mu.Unlock()
		over = true
		debug.SetGCPercent(before)
		if bounded {
			debug.SetMemoryLimit(limit)
		}
	}
}

// collectAfter returns the percentage to hand out before the next collection: heapGrowth, or what it takes to reach the
// floor. Live and roots are bytes; roots are the stacks and globals, to which Go applies the percentage as well.
func collectAfter(live, roots uint64) int {
	const smallest = 4 << 20 // Go counts no heap as smaller
	live = max(live, smallest)
	return max(heapGrowth, int((heapFloor-min(live, heapFloor))*100/(live+roots)))
}

// memoryFor returns the limit of memory in bytes until the next collection, where live bytes are alive and other is
// what the runtime has beside objects. Go applies a percentage to what the next collection finds alive, which is
// several times as much when many runs end at once; the limit holds the heap to what was meant.
func memoryFor(live, other uint64) int64 {
	const slack = 4 << 20 // stacks that grow meanwhile
	return int64(other + max(heapFloor, live+live*heapGrowth/100) + slack)
}

// otherMemory returns how many bytes the runtime has from the system for other things than objects.
func otherMemory() uint64 {
	held := heapMetric("/memory/classes/total:bytes") - heapMetric("/memory/classes/heap/released:bytes")
	return held - min(held,
		heapMetric("/memory/classes/heap/free:bytes")+heapMetric("/memory/classes/heap/objects:bytes"))
}

// onCollection calls f after each collection for as long as it says so.
func onCollection(f func() bool) {
	type mark struct{ _ [16]byte } // large enough not to share its block with others
	runtime.AddCleanup(&mark{}, func(int) {
		if f() {
			onCollection(f)
		}
	}, 0)
}

// giveBack waits for work to be over and returns its memory to the system.
func giveBack(ctx context.Context, each time.Duration, rest func()) {
	tick := time.NewTicker(each)
	defer tick.Stop()
	var last, given uint64
	files := dropGrown(0) // most of what starting touched is not needed again
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := heapMetric("/gc/heap/allocs:bytes")
		if now-last < calmBytes && now-given > worthIt {
			rest()
			runtime.GC() // what pools keep is let go of by the second collection
			debug.FreeOSMemory()
			now = heapMetric("/gc/heap/allocs:bytes")
			given = now
			files = 0 // drop the pages that only the work needed, too
		}
		files = dropGrown(files)
		last = now
	}
}

// dropGrown drops the pages of the program file if more of them came in than is worth the look since
// there were so many bytes of files in memory, or if there are plenty, and returns how many there are
// after the last drop. What is in use comes back in a millisecond, also under load; the system maps a
// page with many around it, and so the rest is far more.
func dropGrown(files uint64) uint64 {
	if fileBytes() < min(files+worthDropping, plentyOfFiles) {
		return files
	}
	dropProgram()
	return fileBytes()
}

func heapMetric(name string) uint64 {
	s := []metrics.Sample{{Name: name}}
	metrics.Read(s)
	if s[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return s[0].Value.Uint64()
}
