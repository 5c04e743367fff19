// Package family keeps the children of a run that work for its calls, so that none outlives it.
package family

import (
	"context"
	"sync"
)

// Family are the children of a live run. The zero value is ready.
type Family struct {
	mu    sync.Mutex
	ended bool // no more children
	kids  map[string]kid
	wg    sync.WaitGroup
}

type kid struct {
	ns     string
	cancel context.CancelCauseFunc
}

// Add takes a child in, unless its parent ends.
func (f *Family) Add(id, ns string, cancel context.CancelCauseFunc) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		return false
	}
	if f.kids == nil {
		f.kids = map[string]kid{}
	}
	f.kids[id] = kid{ns, cancel}
	f.wg.Add(1)
	return true
}

// Remove lets go of a child that has ended.
func (f *Family) Remove(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.kids, id)
	f.wg.Done()
}

// Cancel ends one child. It tells whether there was one.
func (f *Family) Cancel(id string, cause error) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	k, ok := f.kids[id]
	if ok {
		k.cancel(cause)
	}
	return ok
}

// In is the child that works in a namespace, or "".
func (f *Family) In(ns string) string {
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
func (f *Family) End(cause error) {
	f.mu.Lock()
	f.ended = true
	for _, k := range f.kids {
		k.cancel(cause)
	}
	f.mu.Unlock()
	f.wg.Wait()
}
