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
	// heapFloor is the size in bytes below which memory isn't collected during work. A collection's cost depends on
	// live memory, which is small: with 10 MB alive Go would collect after every 10 MB allocated, many times a second
	// under load.
	heapFloor = 36 << 20

	heapGrowth = 60 // percent that a larger heap grows by before it is collected; Go's own is 100

	calmEach  = 2 * time.Second // interval of checking whether work has ended
	calmBytes = 512 << 10       // at most this was allocated since when idle
	worthIt   = 2 << 20         // and so much since memory was given back

	worthDropping = 4 << 20  // bytes of the program file loaded since its pages were dropped
	plentyOfFiles = 28 << 20 // bytes of files in memory that are too many in any case
)

// Keep tunes garbage collection and the memory limit, and returns memory to the system when idle, after rest released
// unneeded memory, until the returned function is called. If GOGC is set, it does nothing; GOMEMLIMIT replaces its
// limit.
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

// collectAfter returns the percentage to allocate before the next collection: heapGrowth, or enough to reach the floor.
// Live and roots are bytes; roots are the stacks and globals, to which Go applies the percentage as well.
func collectAfter(live, roots uint64) int {
	const smallest = 4 << 20 // Go counts no heap as smaller
	live = max(live, smallest)
	return max(heapGrowth, int((heapFloor-min(live, heapFloor))*100/(live+roots)))
}

// memoryFor returns the memory limit in bytes until the next collection, given live bytes and the runtime's other
// memory. Go applies a percentage to the bytes that the next collection finds alive, which is several times as much
// when many runs end at once; the limit keeps the heap to the intended size.
func memoryFor(live, other uint64) int64 {
	const slack = 4 << 20 // stacks that grow meanwhile
	return int64(other + max(heapFloor, live+live*heapGrowth/100) + slack)
}

// otherMemory returns the runtime's memory other than objects, in bytes.
func otherMemory() uint64 {
	held := heapMetric("/memory/classes/total:bytes") - heapMetric("/memory/classes/heap/released:bytes")
	return held - min(held,
		heapMetric("/memory/classes/heap/free:bytes")+heapMetric("/memory/classes/heap/objects:bytes"))
}

// onCollection calls f after each collection until it returns false.
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
	files := dropGrown(0) // pages touched at the start are mostly not needed again
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := heapMetric("/gc/heap/allocs:bytes")
		if now-last < calmBytes && now-given > worthIt {
			rest()
			runtime.GC() // pools are emptied by the second collection
			debug.FreeOSMemory()
			now = heapMetric("/gc/heap/allocs:bytes")
			given = now
			files = 0 // drop the pages that only the work needed, too
		}
		files = dropGrown(files)
		last = now
	}
}

// dropGrown drops the program file's pages if they grew enough since the given size to be worthwhile, or if there are
// many, and returns their size after the last drop. Pages in use return within a millisecond, even under load; the
// system maps many around each, so most are unused.
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
