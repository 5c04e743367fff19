package chattest

import (
	"context"
	"net"
	"net/http"
)

func (s *State) count(_ net.Conn, state http.ConnState) {
	s.do(func() {
		switch state {
		case http.StateNew:
			s.conns++
		case http.StateClosed, http.StateHijacked:
			s.conns--
		}
	})
}

// Conns counts the connections besides sockets.
func (s *State) Conns() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conns
}

// WaitLeft waits until a bot that was killed has no socket open, and there are so many other connections: what it said
// is heard by then, and does not come behind what the next one says.
func (s *State) WaitLeft(conns int) {
	s.T.Helper()
	ctx, cancel := context.WithTimeout(s.T.Context(), patience)
	defer cancel()
	if !s.wait(ctx, func() bool { return (s.open == nil || s.open() == 0) && s.conns <= conns }) {
		s.T.Error("a bot that was killed is still connected")
	}
}
