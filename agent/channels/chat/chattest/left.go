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

// WaitLeft waits until a killed bot has no open socket and n other connections exist: everything it sent has been read
// by then and can't arrive after the next bot's messages.
func (s *State) WaitLeft(conns int) {
	s.T.Helper()
	ctx, cancel := context.WithTimeout(s.T.Context(), patience)
	defer cancel()
	if !s.wait(ctx, func() bool { return (s.open == nil || s.open() == 0) && s.conns <= conns }) {
		s.T.Error("a bot that was killed is still connected")
	}
}
