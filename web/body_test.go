package web_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
)

// TestABodyThatDoesNotComeIsNotWaitedFor: for a handler that reads it and for one that does not.
func TestABodyThatDoesNotComeIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	s := start(t, "server: {header_timeout: 1}")
	for _, c := range []struct {
		path   string
		status int
	}{{"/threads", http.StatusRequestTimeout}, {"/ui/threads", 0}, {"/ok", http.StatusMethodNotAllowed}} {
		var status int
		until(t, func() (answered bool) {
			status, answered = withoutBody(t, s, c.path)
			return answered
		})
		if c.status != 0 && status != c.status {
			t.Errorf("%s: %d", c.path, status)
		}
	}
	s.goesOn(t)
}

// withoutBody sends headers and one byte of a body. On a busy machine the headers may be too late already, which are
// not answered.
func withoutBody(t *testing.T, s *server, path string) (status int, answered bool) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	must.Do(t, err)
	defer conn.Close()
	_, err = conn.Write([]byte("POST " + path +
		" HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\n{"))
	if err != nil {
		return 0, false
	}
	r := bufio.NewReader(conn)
	res, err := http.ReadResponse(r, nil)
	if err != nil {
		return 0, false
	}
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		t.Errorf("%s: %v", path, err)
	}
	res.Body.Close()
	if _, err := r.ReadByte(); err == nil {
		t.Errorf("%s: the connection goes on", path)
	}
	return res.StatusCode, true
}

// goesOn waits until the server makes a thread: one that gives headers a second only refuses those of a busy machine.
func (s *server) goesOn(t *testing.T) {
	t.Helper()
	until(t, func() bool {
		res, err := s.request(t.Context(), "POST", "/threads", strings.NewReader("{}"))
		if err != nil {
			return false
		}
		defer res.Body.Close()
		return res.StatusCode == http.StatusOK
	})
}
