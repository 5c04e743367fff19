package api_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/agent/runs"
	"fawn/web/api"
	"fawn/web/route"
	"fawn/web/webtest"
)

// receiver is a web server that webhooks call. It answers with the next of its statuses,
// then with 200.
type receiver struct {
	url    string
	bodies chan string

	mu      sync.Mutex
	answers []int
}

func receive(t *testing.T, answers ...int) *receiver {
	t.Helper()
	r := &receiver{bodies: make(chan string, 100), answers: answers}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		b, err := io.ReadAll(req.Body)
		if err != nil {
			t.Error(err)
		}
		r.mu.Lock()
		status := 200
		if len(r.answers) > 0 {
			status, r.answers = r.answers[0], r.answers[1:]
		}
		r.mu.Unlock()
		w.WriteHeader(status)
		r.bodies <- string(b)
	}))
	t.Cleanup(srv.Close)
	r.url = srv.URL
	return r
}

func (r *receiver) next(t *testing.T) map[string]any {
	t.Helper()
	select {
	case b := <-r.bodies:
		return decode[map[string]any](t, b)
	case <-time.After(2 * time.Minute):
		t.Fatal("the webhook was not called within two minutes")
		return nil
	}
}

func post(ctx context.Context, url, _ string, body []byte) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	return res.StatusCode, res.Body.Close()
}

// telling starts what tells webhooks; it ends with the test.
func (w *world) telling(t *testing.T, waits ...time.Duration) {
	t.Helper()
	w.api.SetWebhookWaits(waits...)
	ctx, stop := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { w.api.TellWebhooks(ctx) })
	t.Cleanup(func() { stop(); done.Wait() })
}

// owed are the runs whose webhooks are still to be told.
func (w *world) owed(t *testing.T) []string {
	t.Helper()
	keys, err := w.db.Keys(t.Context(), "", runs.WebhookSpace)
	must.Do(t, err)
	return keys
}

func withPost(p route.Post) option { return func(d *route.Deps) { d.Post = p } }

func TestWebhookHearsHowARunEnded(t *testing.T) {
	for _, c := range []struct {
		name   string
		path   string
		fail   bool
		status string
		more   string
	}{
		{"a run on a thread", "/threads/t1/runs", false, "success", ""},
		{"a run that fails", "/threads/t1/runs", true, "error", ""},
		{"a stateless run whose thread is deleted", "/runs", false, "success", `,"on_completion":"delete"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			to := receive(t)
			a := sayAgent("well ", "done")
			if c.fail {
				a = failAgent()
			}
			w := open(t, a, withPost(post))
			w.telling(t)
			started := decode[map[string]any](t,
				w.send(t, "POST", c.path, `{"input":{"messages":["go"]},"webhook":"`+to.url+`/done?x=1"`+c.more+
					`}`).body)
			got := to.next(t)
			if got["run_id"] != started["run_id"] || got["thread_id"] != started["thread_id"] ||
				got["status"] != c.status || got["webhook_sent_at"] == "" {
				t.Errorf("told %v", got)
			}
			values := got["values"].(map[string]any)["messages"].([]any)
			if len(values) != 2 || c.fail != (got["error"] != nil) {
				t.Errorf("values %v, error %v", values, got["error"])
			}
			w.eventually(t, func() bool { return len(w.owed(t)) == 0 })
			webtest.Same(t, "told … times more", len(to.bodies), 0)
		})
	}
}

func TestWebhookIsTriedAgain(t *testing.T) {
	to := receive(t, 503, 429)
	w := open(t, sayAgent("hi"), withPost(post))
	w.telling(t, time.Millisecond, time.Millisecond, time.Millisecond)
	w.send(t, "POST", "/threads/t1/runs", `{"input":{"messages":["go"]},"webhook":"`+to.url+`"}`)
	for range 3 {
		if got := to.next(t); got["status"] != "success" {
			t.Errorf("told %v", got)
		}
	}
	w.eventually(t, func() bool { return len(w.owed(t)) == 0 })
}

func TestWebhookIsGivenUp(t *testing.T) {
	for name, p := range map[string]route.Post{
		"refused for good":   func(context.Context, string, string, []byte) (int, error) { return 0, api.ErrWebhookRefused },
		"answered with 404":  func(context.Context, string, string, []byte) (int, error) { return 404, nil },
		"never reached":      func(context.Context, string, string, []byte) (int, error) { return 0, errors.New("no route") },
		"nothing to call it": nil,
	} {
		t.Run(name, func(t *testing.T) {
			w := open(t, sayAgent("hi"), withPost(p))
			w.send(t, "POST", "/threads/t1/runs/wait",
				`{"input":{"messages":["go"]},"webhook":"http://example.com/hook"}`)
			if owed := w.owed(t); len(owed) != 1 {
				t.Fatalf("stored with the end: %v", owed)
			}
			w.telling(t, time.Millisecond)
			w.eventually(t, func() bool { return len(w.owed(t)) == 0 })
		})
	}
}

func TestWebhookOfACancelledRunInTheQueue(t *testing.T) {
	to := receive(t)
	w := open(t, sayAgent("hi"), withPost(post))
	w.telling(t)
	run := decode[map[string]any](t,
		w.send(t, "POST", "/threads/t1/runs", `{"input":{"messages":["go"]},"after_seconds":3600,"webhook":"`+to.url+
			`"}`).body)
	w.send(t, "POST", fmt.Sprintf("/threads/t1/runs/%s/cancel?wait=1", run["run_id"]), "").must(t, "the answer", http.StatusNoContent)
	if got := to.next(t); got["status"] != "interrupted" || got["run_id"] != run["run_id"] {
		t.Errorf("told %v", got)
	}
}

func TestWebhooksMustBeAddressesOfWebServers(t *testing.T) {
	w := open(t, sayAgent("hi"))
	for _, bad := range []string{"/relative", "ftp://example.com/x", "http://", "https://user:pass@example.com/",
		"nonsense", "http://example.com/" + strings.Repeat("x", 2048)} {
		w.send(t, "POST", "/threads/t1/runs", `{"webhook":"`+bad+`"}`).want(t, fmt.Sprintf("%.40s", bad), http.StatusUnprocessableEntity, `"webhook"`)
	}
	w.send(t, "POST", "/threads/t1/runs", `{"after_seconds":-1}`).want(t, "/threads/t1/runs", http.StatusUnprocessableEntity, `"after_seconds"`)
}
