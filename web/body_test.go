package web_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// TestABodyThatDoesNotComeIsNotWaitedFor: for a handler that reads it and for one that does not.
func TestABodyThatDoesNotComeIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	s := start(t, "server: {header_timeout: 1}")
	for _, c := range []struct {
		path   string
		status int
	}{{"/threads", http.StatusRequestTimeout}, {"/ui/threads", 0}, {"/ok", http.StatusMethodNotAllowed}} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := conn.Write([]byte("POST " + c.path +
			" HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\n{")); err != nil {
			t.Fatal(err)
		}
		r := bufio.NewReader(conn)
		res, err := http.ReadResponse(r, nil)
		if err != nil || c.status != 0 && res.StatusCode != c.status {
			t.Fatalf("%s: %v %v", c.path, res, err)
		}
		if _, err := io.Copy(io.Discard, res.Body); err != nil {
			t.Errorf("%s: %v", c.path, err)
		}
		res.Body.Close()
		if _, err := r.ReadByte(); err == nil {
			t.Errorf("%s: the connection goes on", c.path)
		}
	}
	s.works(t)
}
