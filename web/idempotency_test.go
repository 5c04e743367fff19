package web_test

import (
	"strings"
	"sync"
	"testing"

	"fawn/web"
	"fawn/web/webtest"
)

const keyedRun = `{"assistant_id":"lead_agent","if_not_exists":"create","input":{"messages":[{"type":"human","content":"echo 20 tokens at 0 tok/s"}]}}`

// TestARequestWithAKeyIsCarriedOutOnce also over a restart: what is sent again gets the run that is there.
func TestARequestWithAKeyIsCarriedOutOnce(t *testing.T) {
	t.Parallel()
	data, conf := t.TempDir(), scripted(t)
	s := start(t, conf, func(o *web.Options) { o.Data = data })
	type run struct {
		ID string `json:"run_id"`
	}
	first := s.send(t, "POST", "/threads/t1/runs", keyedRun, "Idempotency-Key", "k1")
	id := decoded[run](t, first).ID
	if first.status != 200 || id == "" || first.header.Get("Idempotent-Replayed") != "" {
		t.Fatalf("%d %s", first.status, first.body)
	}
	again := func(s *server, what string) {
		t.Helper()
		a := s.send(t, "POST", "/threads/t1/runs", keyedRun, "Idempotency-Key", "k1")
		if decoded[run](t, a).ID != id || a.header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("%s: %d %s", what, a.status, a.body)
		}
	}
	again(s, "at once")
	streamed := s.send(t, "POST", "/threads/t1/runs/stream", keyedRun, "Idempotency-Key", "k2")
	replayed := s.send(t, "POST", "/threads/t1/runs/stream", keyedRun, "Idempotency-Key", "k2")
	if streamed.status != 200 || streamed.body != replayed.body || replayed.header.Get("Idempotent-Replayed") != "true" ||
		streamed.header.Get("Content-Location") != replayed.header.Get("Content-Location") {
		t.Errorf("a stream: %.300s, then %.300s", streamed.body, replayed.body)
	}
	for _, path := range []string{"/threads/t1/runs/wait", "/runs/wait"} {
		waited := s.send(t, "POST", path, keyedRun, "Idempotency-Key", "k3 "+path)
		if path == "/runs/wait" { // readers of the run may still be leaving
			thread, _, _ := strings.Cut(strings.TrimPrefix(waited.header.Get("Content-Location"), "/threads/"), "/")
			webtest.UntilSeen(t, func() bool { return s.send(t, "GET", "/threads/"+thread, "").status == 404 }, s.log.String)
		}
		twice := s.send(t, "POST", path, keyedRun, "Idempotency-Key", "k3 "+path)
		if path == "/runs/wait" { // its thread is gone with it
			if waited.status != 200 || twice.status != 410 {
				t.Errorf("%s: %d, then %d %s", path, waited.status, twice.status, twice.body)
			}
		} else if strings.TrimSpace(waited.body) != strings.TrimSpace(twice.body) {
			t.Errorf("%s: %s, then %s", path, waited.body, twice.body)
		}
	}
	other := strings.Replace(keyedRun, "20 tokens", "21 tokens", 1)
	for name, c := range map[string][3]string{"another body": {"/threads/t1/runs", other, "k1"},
		"another thread": {"/threads/t2/runs", keyedRun, "k1"}, "a long key": {"/threads/t1/runs", keyedRun, strings.Repeat("k", 300)}} {
		if a := s.send(t, "POST", c[0], c[1], "Idempotency-Key", c[2]); a.status != 422 || !strings.Contains(a.body, "Idempotency-Key") {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	// What was refused can be sent again with its key.
	const wrong = `{"assistant_id":"lead_agent","if_not_exists":"reject","input":{"messages":[{"type":"human","content":"hi"}]}}`
	for range 2 {
		if a := s.send(t, "POST", "/threads/none/runs", wrong, "Idempotency-Key", "k4"); a.status != 404 {
			t.Errorf("a thread that is not there: %d %s", a.status, a.body)
		}
	}
	if a := s.send(t, "POST", "/threads", `{"thread_id":"none"}`); a.status != 200 {
		t.Fatal(a.body)
	}
	if a := s.send(t, "POST", "/threads/none/runs", wrong, "Idempotency-Key", "k4"); a.status != 200 {
		t.Errorf("it is there now: %d %s", a.status, a.body)
	}
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	s = start(t, conf, func(o *web.Options) { o.Data = data })
	again(s, "after a restart")
	if list := decoded[[]run](t, s.send(t, "GET", "/threads/t1/runs", "")); len(list) != 3 {
		t.Errorf("the thread has %d runs", len(list))
	}
}

// TestServersCarryARequestWithAKeyOutOnce however many of them get it at once.
func TestServersCarryARequestWithAKeyOutOnce(t *testing.T) {
	conf := clustered(t, 200)
	a, b := start(t, conf, sealing(t)), start(t, conf, sealing(t))
	var work sync.WaitGroup
	ids := make([]string, 12)
	for i := range ids {
		s := []*server{a, b}[i%2]
		work.Go(func() {
			got := s.send(t, "POST", "/threads/t1/runs", keyedRun, "Idempotency-Key", "k")
			if got.status != 200 {
				t.Errorf("%d %s", got.status, got.body)
				return
			}
			ids[i] = decoded[struct {
				ID string `json:"run_id"`
			}](t, got).ID
		})
	}
	work.Wait()
	for _, id := range ids {
		if id == "" || id != ids[0] {
			t.Fatalf("the runs are %q", ids)
		}
	}
	if list := decoded[[]any](t, a.send(t, "GET", "/threads/t1/runs", "")); len(list) != 1 {
		t.Errorf("the thread has %d runs", len(list))
	}
}
