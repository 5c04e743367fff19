package memlimit

import (
	"context"
	"math"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"testing"
	"time"
)

// TestCollectionsAreSpacedByBytes: a small heap grows to the floor, a large one by a share of its size.
func TestCollectionsAreSpacedByBytes(t *testing.T) {
	const mb = 1 << 20
	for _, live := range []uint64{0, 1, 4 * mb, 9 * mb, 19 * mb, 20 * mb, 33 * mb, 64 * mb, 10 << 30,
		math.MaxUint64 / 2} {
		for _, roots := range []uint64{0, mb / 2, 8 * mb} {
			percent := collectAfter(live, roots)
			from := max(live, 4*mb)
			next := float64(from) + float64(from+roots)*float64(percent)/100
			atFloor := next <= heapFloor*1.01 && next >= heapFloor*0.98
			reaches := float64(from)+float64(from+roots)*heapGrowth/100 >= heapFloor*0.99
			if percent < heapGrowth || percent > heapGrowth && !atFloor || percent == heapGrowth && !reaches {
				t.Errorf("%d bytes alive, %d in roots: collected after %d %%, at %.0f bytes", live, roots,
					percent, next)
			}
		}
	}
}

// TestTheLimitHoldsTheHeapToItsSpacing, whatever else the runtime keeps.
func TestTheLimitHoldsTheHeapToItsSpacing(t *testing.T) {
	const mb = 1 << 20
	for _, live := range []uint64{0, 8 * mb, 30 * mb, 200 * mb} {
		for _, other := range []uint64{0, 5 * mb, 60 * mb} {
			heap := uint64(memoryFor(live, other)) - other
			meant := max(heapFloor, live+live*heapGrowth/100)
			if heap < meant || heap > meant+8*mb {
				t.Errorf("%d bytes alive, %d of other kinds: %d bytes for objects, %d are meant", live, other,
					heap, meant)
			}
		}
	}
}

// TestTheSpacingFollowsTheHeap, and is put back at the end.
func TestTheSpacingFollowsTheHeap(t *testing.T) {
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "")
	before := debug.SetGCPercent(77)
	defer debug.SetGCPercent(before)
	percent := func() int {
		now := debug.SetGCPercent(50)
		debug.SetGCPercent(now)
		return now
	}
	runtime.GC() // the next one is far away: it would set another spacing before it is looked at
	stop := Keep(context.Background(), func() {})
	if got := percent(); got != collectAfter(0, 0) {
		t.Errorf("%d %% at the start", got)
	}
	alive := make([]byte, heapFloor)
	for deadline := time.Now().Add(time.Minute); percent() != heapGrowth; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("still %d %% with %d bytes alive", percent(), len(alive))
		}
		runtime.GC()
	}
	if limit := debug.SetMemoryLimit(-1); limit == math.MaxInt64 {
		t.Error("no limit beside the spacing")
	}
	runtime.KeepAlive(alive)
	stop()
	for range 3 {
		runtime.GC()
	}
	if got := percent(); got != 77 {
		t.Errorf("%d %% after the end", got)
	}
	if limit := debug.SetMemoryLimit(-1); limit != math.MaxInt64 {
		t.Errorf("a limit of %d bytes is left behind", limit)
	}
	t.Setenv("GOGC", "200")
	Keep(context.Background(), func() {})()
	if got := percent(); got != 77 {
		t.Errorf("%d %% although GOGC was set", got)
	}
}

// TestMemoryIsGivenBackWhenNothingGoesOn.
func TestMemoryIsGivenBackWhenNothingGoesOn(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	use(32 << 20)
	before := heapMetric("/memory/classes/heap/released:bytes")
	var rested atomic.Bool
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		giveBack(ctx, time.Millisecond, func() { rested.Store(true) })
	}()
	defer func() { cancel(); <-done }()
	for deadline := time.Now().Add(time.Minute); heapMetric("/memory/classes/heap/released:bytes") < before+
		24<<20; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("nothing was given back")
		}
	}
	if !rested.Load() {
		t.Error("nobody was told to rest")
	}
}

//go:noinline
func use(n int) {
	used := make([]byte, n)
	for i := range used {
		used[i] = 1
	}
}
