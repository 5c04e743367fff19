package web_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
)

// TestMannersOfTheMounts holds docs/api.md to its word: what differs between the mounts,
// and what does not.
func TestMannersOfTheMounts(t *testing.T) {
	t.Parallel()
	s := start(t, scripted(t))
	const silence = `SCRIPT{"turns": [{"text": "hm", "hang": true}]}`
	for _, m := range []struct {
		mount, thread                                             string
		busy, exists, unknownField, unknownModel, removed, remove int
	}{
		{"", "a", 200, 409, 200, 200, 204, 204},
		{"/api/langgraph", "b", 200, 409, 200, 200, 204, 204},
		{"/api", "c", 409, 200, 422, 400, 409, 200},
	} {
		t.Run("at "+m.mount+"/", func(t *testing.T) {
			for _, c := range []struct {
				what, method, path, body string
				status                   int
			}{
				{"create", "POST", "/threads", `{"thread_id": "` + m.thread + `"}`, 200},
				{"create again", "POST", "/threads", `{"thread_id": "` + m.thread + `"}`, m.exists},
				{"create again if needed", "POST", "/threads", `{"if_exists": "do_nothing", "thread_id": "` + m.thread + `"}`, 200},
				{"unknown state field", "POST", "/threads/" + m.thread + "/state", `{"values": {"mood": 1}}`, m.unknownField},
				{"unknown model", "POST", "/threads/" + m.thread + "-2/runs/wait", human("echo 1 tokens at 0 tok/s", `"context": {"model_name": "none"}`), m.unknownModel},
				{"run", "POST", "/threads/" + m.thread + "/runs", human(silence), 200},
				{"run on a busy thread", "POST", "/threads/" + m.thread + "/runs", human(silence), m.busy},
				{"run that waits", "POST", "/threads/" + m.thread + "/runs", human(silence, `"multitask_strategy": "enqueue"`), 200},
				{"run that does not", "POST", "/threads/" + m.thread + "/runs", human(silence, `"multitask_strategy": "reject"`), 409},
				{"run in place of the others", "POST", "/threads/" + m.thread + "/runs", human(silence, `"multitask_strategy": "rollback"`), 200},
			} {
				s.send(t, c.method, m.mount+c.path, c.body).want(t, c.what, c.status)
			}
			run := decoded[[]struct {
				ID string `json:"run_id"`
			}](t, s.send(t, "GET", m.mount+"/threads/"+m.thread+"/runs", ""))[0].ID
			a := s.send(t, "POST", m.mount+"/threads/"+m.thread+"/runs/"+run+"/cancel?action=rollback", "")
			if a.status != http.StatusAccepted || !strings.Contains(a.header.Get("X-Fawn-Note"), "kept") {
				t.Errorf("rollback: %d %s", a.status, a.body)
			}
			// The run may be gone by now or not; one behind it keeps the thread busy.
			decoded[any](t, s.send(t, "POST", m.mount+"/threads/"+m.thread+"/runs",
				human(silence, `"multitask_strategy": "enqueue"`)))
			s.send(t, "DELETE", m.mount+"/threads/"+m.thread, "").want(t, "delete a busy thread", m.removed)
			s.send(t, "POST", m.mount+"/runs/cancel", `{"status": "all"}`).want(t, "cancel all", http.StatusNoContent)
			until(t, func() bool {
				return !strings.Contains(s.send(t, "POST", "/threads/search", `{"status": "busy"}`).body, "thread_id")
			})
			decoded[any](t,
				s.send(t, "POST", m.mount+"/threads", `{"if_exists": "do_nothing", "thread_id": "`+m.thread+`"}`))
			s.send(t, "DELETE", m.mount+"/threads/"+m.thread, "").want(t, "delete an idle thread", m.remove)
		})
	}
}

// TestHTTPManners checks what general clients of HTTP rely on: HEAD where GET is, tags, compression both ways, and text
// that is refused rather than changed.
func TestHTTPManners(t *testing.T) {
	t.Parallel()
	s := start(t, scripted(t))
	s.send(t, "POST", "/threads/t1/runs/wait", `{"assistant_id": "lead_agent", "input": {"messages": [{"role": "user", "content": "echo 3 tokens"}]}}`)
	for _, path := range []string{"/", "/ok", "/openapi.json", "/threads/t1", "/threads/t1/state", "/threads/t1/stream", "/api/models", "/workspace/chats/t1", "/v1/models"} {
		get, head := 0, s.send(t, "HEAD", path, "")
		if path == "/threads/t1/stream" {
			get = 200
		} else {
			get = s.send(t, "GET", path, "").status
		}
		if head.status != get || head.body != "" {
			t.Errorf("HEAD %s: %d %q, GET is %d", path, head.status, head.body, get)
		}
	}
	for _, path := range []string{"/openapi.json", "/threads", "/threads/t1/history"} {
		a := s.send(t, "GET", path, "")
		tag := a.header.Get("ETag")
		if same := s.send(t, "GET", path, "", "If-None-Match", `"other", `+tag); tag == "" || same.status != http.StatusNotModified || same.body != "" {
			t.Errorf("%s with the tag %q: %d %s", path, tag, same.status, same.body)
		}
		if other := s.send(t, "GET", path, "", "If-None-Match", `"other"`); other.status != http.StatusOK || other.body != a.body {
			t.Errorf("%s with another tag: %d", path, other.status)
		}
	}
	if a := s.send(t, "GET", "/openapi.json", "", "Accept-Encoding", "gzip"); a.header.Get("Content-Encoding") != "gzip" || !slices.Contains(a.header.Values("Vary"), "Accept-Encoding") {
		t.Errorf("the document isn't compressed: %v", a.header)
	}
	var packed bytes.Buffer
	zw := gzip.NewWriter(&packed)
	if _, err := zw.Write([]byte(`{"metadata": {"packed": true}}`)); err != nil {
		t.Fatal(err)
	}
	must.Do(t, zw.Close())
	s.send(t, "POST", "/threads", packed.String(), "Content-Encoding", "gzip").want(t, "a compressed body", 200, `"packed":true`)
	for name, c := range map[string]struct {
		body, coding string
		status       int
		want         string
	}{
		"no gzip":          {`{}`, "gzip", 400, "gzip"},
		"another coding":   {`{}`, "br", 415, "not with br"},
		"no UTF-8":         {"{\"metadata\": {\"a\": \"\xff\"}}", "", 422, "not valid UTF-8 at byte 20"},
		"half a pair":      {`{"metadata": {"a": "\ud83d"}}`, "", 422, "surrogate"},
		"the other half":   {`{"metadata": {"a": "\udc00"}}`, "", 422, "surrogate"},
		"a pair":           {`{"metadata": {"a": "\ud83d\ude00"}}`, "", 200, `\ud83d\ude00`},
		"an escaped slash": {`{"metadata": {"a": "\\ud83d"}}`, "", 200, `\\ud83d`},
	} {
		var headers []string
		if c.coding != "" {
			headers = []string{"Content-Encoding", c.coding}
		}
		s.send(t, "POST", "/threads", c.body, headers...).want(t, fmt.Sprintf("%s: , want with %s", name, c.want), c.status, c.want)
	}
}
