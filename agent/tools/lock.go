package tools

import (
	"context"
	"sync"
)

// Locks serializes changes of a thread's file. A lock exists while it is held or awaited.
type Locks struct {
	mu   sync.Mutex
	held map[string]*lock // guarded by mu
}

type lock struct {
	free  chan struct{} // holds one token while the lock is free
	users int           // guarded by Locks.mu
}

// NewLocks returns an empty set of locks.
func NewLocks() *Locks { return &Locks{held: map[string]*lock{}} }

// Lock acquires the lock of a thread's file and returns its release, or the context's error.
func (l *Locks) Lock(ctx context.Context, thread, path string) (unlock func(), err error) {
	key := thread + "\x00" + path
	l.mu.Lock()
	k := l.held[key]
	if k == nil {
		k = &lock{free: make(chan struct{}, 1)}
		k.free <- struct{}{}
		l.held[key] = k
	}
	k.users++
	l.mu.Unlock()

	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if k.users--; k.users == 0 {
			delete(l.held, key)
		}
	}
	select {
	case <-k.free:
		return func() { k.free <- struct{}{}; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, context.Cause(ctx)
	}
}
