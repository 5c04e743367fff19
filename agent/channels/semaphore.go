package channels

import (
	"context"
	"sync"
)

// semaphore limits the concurrent holders and serves waiters in order of arrival. The zero value has no slots.
type semaphore struct {
	mu   sync.Mutex
	max  int
	used int
	line []chan struct{} // waiters; each channel is closed when its slot is granted
}

// newSemaphore makes n slots.
func newSemaphore(n int) *semaphore { return &semaphore{max: n} }

// Resize changes the number of slots to n. Slots in use stay in use.
func (s *semaphore) Resize(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.max = n
	s.serve()
}

// serve grants free slots to waiters. mu is held.
func (s *semaphore) serve() {
	for s.used < s.max && len(s.line) > 0 {
		close(s.line[0])
		s.line[0] = nil
		s.line = s.line[1:]
		s.used++
	}
}

// Try acquires a slot if one is free and nobody is waiting.
func (s *semaphore) Try() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used >= s.max || len(s.line) > 0 {
		return false
	}
	s.used++
	return true
}

// Take waits for a slot, or returns the error of a context that ends first.
func (s *semaphore) Take(ctx context.Context) error {
	if s.Try() {
		return nil
	}
	mine := make(chan struct{})
	s.mu.Lock()
	s.line = append(s.line, mine)
	s.serve()
	s.mu.Unlock()
	select {
	case <-mine:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, other := range s.line {
		if other == mine {
			s.line = append(s.line[:i:i], s.line[i+1:]...)
			return ctx.Err()
		}
	}
	s.used-- // already counted
	s.serve()
	return ctx.Err()
}

// Give releases a slot.
func (s *semaphore) Give() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used--
	s.serve()
}
