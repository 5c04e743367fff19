//go:build unix

package main

import (
	"bufio"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"fawn/agent/agenttest"
	"fawn/web/webtest"
)

// TestAKeyOutlivesItsServer kills a server while it answers requests with keys. Sent again, they get the same runs, whole.
func TestAKeyOutlivesItsServer(t *testing.T) {
	t.Parallel()
	conf, dir := configured(t), t.TempDir()
	s := serve(t, nil, "--data", dir, "--config", conf)
	const words = `SCRIPT{\"turns\": [{\"text\": \"` + "one two three four five six seven eight nine ten" + `\", \"chunk\": 4, \"rate\": 12}]}`
	chat := `{"model": "lead_agent", "stream": true, "messages": [{"role": "user", "content": "` + words + `"}]}`
	run := `{"assistant_id": "lead_agent", "if_not_exists": "create", "stream_mode": "messages-tuple",
		"input": {"messages": [{"type": "human", "content": "` + words + `"}]}}`
	requests := map[string]string{"/v1/chat/completions": chat, "/threads/t1/runs/stream": run}
	send := func(path string) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), "POST", s.url+path, strings.NewReader(agenttest.RunBody(path, requests[path])))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", "again")
		if path != "/v1/chat/completions" {
			r.Header.Set("Idempotency-Key", "again too")
		}
		res, err := s.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { res.Body.Close() })
		return res
	}
	runs, threads := map[string]string{}, map[string]string{}
	for path := range requests {
		res := send(path)
		if res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d", path, res.StatusCode)
		}
		runs[path], threads[path] = res.Header.Get("X-Run-Id"), res.Header.Get("X-Thread-Id")
		if runs[path] == "" {
			_, runs[path], _ = strings.Cut(res.Header.Get("Content-Location"), "/runs/")
			threads[path] = "t1"
		}
		for lines := bufio.NewReader(res.Body); ; {
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatalf("%s ended before it spoke: %v", path, err)
			}
			if strings.Contains(line, "one") && !strings.Contains(line, "SCRIPT") {
				break
			}
		}
	}
	s.end(t, syscall.SIGKILL)

	s = serve(t, nil, "--data", dir, "--config", conf)
	for path := range requests {
		res := send(path)
		if res.StatusCode != http.StatusOK || res.Header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("%s again: %d %v", path, res.StatusCode, res.Header)
		}
		var said strings.Builder
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			said.WriteString(lines.Text() + "\n")
		}
		if !strings.Contains(said.String(), "ten") {
			t.Errorf("%s again is not whole:\n%s", path, said.String())
		}
		if path == "/v1/chat/completions" && strings.Count(said.String(), `"one`) != 1 {
			t.Errorf("what the crash had cut off is told as well:\n%s", said.String())
		}
		list := call[[]struct {
			ID     string `json:"run_id"`
			Status string `json:"status"`
		}](t, s, "GET", "/threads/"+threads[path]+"/runs", "")
		if len(list) != 1 || list[0].ID != runs[path] || list[0].Status != "success" {
			t.Errorf("%s: the thread has the runs %+v, want %s", path, list, runs[path])
		}
		res2, state := webtest.Send(t, s.client, "GET", s.url+"/threads/"+threads[path]+"/state", nil)
		if n := strings.Count(state, `"type":"human"`); res2.StatusCode != http.StatusOK || n != 1 {
			t.Errorf("%s: the message is there %d times: %s", path, n, state)
		}
	}
}
