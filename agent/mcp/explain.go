package mcp

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"fawn/agent"
	"fawn/agent/mcp/process"
)

// explain describes a server's failure, with the last lines of its output.
func (s *server) explain(err error, began time.Time) error {
	if errors.As(err, &process.NotFoundError{}) {
		return err
	}
	if s.unknown.Load() {
		return errLogin
	}
	var u *url.Error
	switch {
	case tooLarge(err):
		err = fmt.Errorf("it sent a message of more than %d MiB, which is refused", s.pool.o.MaxMessage>>20)
	case errors.As(err, &u):
		err = u.Err // its wrapper repeats the address
	case errors.Is(err, io.EOF):
		err = errors.New("it has ended")
	}
	text := s.veil.over(err.Error())
	if said := s.log.since(began, 3); said != "" {
		text += "; it said: " + said
	}
	return errors.New(agent.Clip(text, 600))
}

// tooLarge reports whether a message exceeded the limit. The library has no sentinel errors.
func tooLarge(err error) bool {
	return errors.Is(err, errTooLarge) ||
		strings.Contains(err.Error(), "exceeded the configured maximum line length") ||
		strings.Contains(err.Error(), "SSE event exceeded") || strings.Contains(err.Error(), errTooLarge.Error())
}

// fail schedules the next attempt; the lock is held.
func (s *server) fail(why string) {
	if s.unknown.Load() { // trying again would not help
		s.state, s.err, s.next = StateLogin, errLogin.Error(), time.Time{}
		return
	}
	s.state, s.err = StateFailed, why
	s.next = time.Now().Add(min(firstDelay<<min(s.failures, 16), lastDelay))
	s.failures++
	s.pool.o.Log.Warn("MCP server failed", "server", s.name, "err", why, "next", s.next)
}
