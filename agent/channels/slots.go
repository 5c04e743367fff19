package channels

import (
	"context"
	"sync"
)

// slots bound how many runs of chats go on at once. Who waits is served in order of arrival.
type slots struct {
	mu   sync.Mutex
	max  int
	used int
	line []chan struct{} // of those that wait; closed when a slot is theirs
}

func (s *slots) resize(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.max = n
	s.serve()
}

// serve hands free slots to those that wait. mu is held.
func (s *slots) serve() {
	for s.used < s.max && len(s.line) > 0 {
		close(s.line[0])
		s.line[0] = nil
		s.line = s.line[1:]
		s.used++
	}
}

// try takes a slot if one is free and nobody waits for it.
func (s *slots) try() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used >= s.max || len(s.line) > 0 {
		return false
	}
	s.used++
	return true
}

func (s *slots) take(ctx context.Context) error {
	if s.try() {
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
	s.used-- // it was ours already
	s.serve()
	return ctx.Err()
}

func (s *slots) give() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used--
	s.serve()
}
