package runs

import (
	"context"
	"sync"
)

// childSet holds the live children of a run, so that none outlives it. The zero value is ready.
type childSet struct {
	mu    sync.Mutex
	ended bool // no more children may start
	kids  map[string]liveChild
	wg    sync.WaitGroup
}

type liveChild struct {
	ns     string
	cancel context.CancelCauseFunc
}

// Add takes a child in, unless its parent ends.
func (f *childSet) Add(id, ns string, cancel context.CancelCauseFunc) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		return false
	}
	if f.kids == nil {
		f.kids = map[string]liveChild{}
	}
	f.kids[id] = liveChild{ns, cancel}
	f.wg.Add(1)
	return true
}

// Remove removes an ended child.
func (f *childSet) Remove(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.kids, id)
	f.wg.Done()
}

// Cancel ends one child. It reports whether there was one.
func (f *childSet) Cancel(id string, cause error) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	k, ok := f.kids[id]
	if ok {
		k.cancel(cause)
	}
	return ok
}

// In returns the child that works in a namespace, or "".
func (f *childSet) In(ns string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, k := range f.kids {
		if k.ns == ns {
			return id
		}
	}
	return ""
}

// End ends all children and waits for them: none outlives its parent.
func (f *childSet) End(cause error) {
	f.mu.Lock()
	f.ended = true
	for _, k := range f.kids {
		k.cancel(cause)
	}
	f.mu.Unlock()
	f.wg.Wait()
}
