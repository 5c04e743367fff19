package web_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/web"
)

// TestLoadBalancersMayAskWithoutAHost, as the check of haproxy does, whether the server is well, and nothing else.
func TestLoadBalancersMayAskWithoutAHost(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"", "/fawn"} {
		s := start(t, "", func(o *web.Options) { o.Base = base })
		for line, want := range map[string]int{"GET /health HTTP/1.0": 200, "OPTIONS /health HTTP/1.0": 200,
			"HEAD /api/health HTTP/1.0": 200, "GET /healthz HTTP/1.0": 200, "GET /threads/x/state HTTP/1.0": 421,
			"GET / HTTP/1.0": 421, "GET /health HTTP/1.0\r\nHost: evil.example": 421} {
			c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
			must.Do(t, err)
			fmt.Fprintf(c, "%s\r\n\r\n", strings.Replace(line, " /", " "+base+"/", 1))
			method, _, _ := strings.Cut(line, " ")
			res, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: method})
			must.Do(t, err, line)
			if res.Body.Close(); res.StatusCode != want {
				t.Errorf("%q below %q: %s", line, base, res.Status)
			}
			c.Close()
		}
	}
}

// TestWhatTryingASandboxLeftIsRemoved by the next server, but not what may be tried out now, or is somebody's.
func TestWhatTryingASandboxLeftIsRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old := time.Now().Add(-time.Hour)
	folder := func(name string) string { return filepath.Join(dir, "threads", name) }
	for name, at := range map[string]time.Time{"probe-abcdefghijkl": old, "probe-other-abcdefghijk2": old,
		"probe-results": old, "probe-abcdefghijk7": time.Now().Add(time.Hour)} {
		must.Do(t, os.MkdirAll(filepath.Join(folder(name), "user-data", "uploads"), 0o700))
		must.Do(t, os.Chtimes(folder(name), at, at))
	}
	s := start(t, "", func(o *web.Options) { o.Data = dir })
	s.app.SweepUploads(t.Context())
	for name, kept := range map[string]bool{"probe-abcdefghijkl": false, "probe-other-abcdefghijk2": false,
		"probe-results": true, "probe-abcdefghijk7": true} {
		if _, err := os.Stat(folder(name)); (err == nil) != kept {
			t.Errorf("%s: %v", name, err)
		}
	}
}
