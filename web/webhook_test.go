package web_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"fawn/web/webtest"
)

// TestWebhooksStayOutOfPrivateNetworks: a webhook on this very host is called only when the
// owner opened its network, and never the server itself.
func TestWebhooksStayOutOfPrivateNetworks(t *testing.T) {
	t.Parallel()
	called := make(chan string, 10)
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		called <- string(b)
	}))
	defer srv.Close()
	run := func(t *testing.T, s *server, url string) {
		t.Helper()
		s.send(t, "POST", "/threads/t1/runs/wait", human("hi", `"webhook":"`+url+`"`)).must(t, "the answer", http.StatusOK)
	}
	givenUp := func(t *testing.T, s *server) {
		t.Helper()
		for end := time.Now().Add(patience); !strings.Contains(s.log.String(),
			"gave up on a webhook"); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("log:\n%s", s.log)
			}
		}
	}
	t.Run("closed", func(t *testing.T) {
		s := start(t, "")
		run(t, s, srv.URL)
		givenUp(t, s)
		if len(called) != 0 {
			t.Errorf("it was called with %s", <-called)
		}
	})
	t.Run("opened", func(t *testing.T) {
		s := start(t, "webhooks: {allow_private: [127.0.0.1]}\n")
		run(t, s, s.url+"/threads/t1/runs") // itself
		givenUp(t, s)
		run(t, s, srv.URL+"/hook")
		select {
		case got := <-called:
			webtest.Holds(t, "told", got, `"status":"success"`, `"values":{`)
		case <-time.After(patience):
			t.Fatalf("it was not called; log:\n%s", s.log)
		}
	})
}
