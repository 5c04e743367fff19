package web_test

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/web"
	"fawn/web/webtest"
)

// TestProfilesAreForThisMachine reads a profile, refuses names of other machines and pages, and addresses that others reach.
func TestProfilesAreForThisMachine(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	addr := l.Addr().String()
	l.Close()
	s := start(t, "", func(o *web.Options) { o.Pprof = addr })
	if got := s.send(t, "GET", "/ok", ""); got.status != http.StatusOK { // then it listens there, too
		t.Fatal(got.status)
	}
	for _, c := range []struct {
		header, value string
		status        int
	}{
		{"", "", http.StatusOK},
		{"Host", "evil.example", http.StatusForbidden},
		{"Origin", "http://evil.example", http.StatusForbidden},
	} {
		r, err := http.NewRequest(http.MethodGet, "http://"+addr+"/debug/pprof/goroutine?debug=1", nil)
		must.Do(t, err)
		if c.header == "Host" {
			r.Host = c.value
		} else if c.header != "" {
			r.Header.Set(c.header, c.value)
		}
		got, err := http.DefaultClient.Do(r)
		must.Do(t, err)
		got.Body.Close()
		webtest.Same(t, fmt.Sprintf("%s %s", c.header, c.value), got.StatusCode, c.status)
	}
	for _, bad := range []string{"0.0.0.0:0", "nonsense", ":0", "example.org:80"} {
		app, err := web.Open(t.Context(), web.Options{Addr: "127.0.0.1:0", Data: t.TempDir(), Pprof: bad})
		must.Do(t, err)
		if err := app.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "--pprof") {
			t.Errorf("%s: %v", bad, err)
		}
		if err := app.Close(); err != nil {
			t.Error(err)
		}
	}
}
