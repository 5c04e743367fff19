package web_test

import (
	"net/http"
	"strings"
	"testing"
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
				if a := s.send(t, c.method, m.mount+c.path, c.body); a.status != c.status {
					t.Errorf("%s: %d %s, want %d", c.what, a.status, a.body, c.status)
				}
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
			if a := s.send(t, "DELETE", m.mount+"/threads/"+m.thread, ""); a.status != m.removed {
				t.Errorf("delete a busy thread: %d %s", a.status, a.body)
			}
			if a := s.send(t, "POST", m.mount+"/runs/cancel", `{"status": "all"}`); a.status != http.StatusNoContent {
				t.Errorf("cancel all: %d %s", a.status, a.body)
			}
			until(t, func() bool {
				return !strings.Contains(s.send(t, "POST", "/threads/search", `{"status": "busy"}`).body, "thread_id")
			})
			decoded[any](t,
				s.send(t, "POST", m.mount+"/threads", `{"if_exists": "do_nothing", "thread_id": "`+m.thread+`"}`))
			if a := s.send(t, "DELETE", m.mount+"/threads/"+m.thread, ""); a.status != m.remove {
				t.Errorf("delete an idle thread: %d %s", a.status, a.body)
			}
		})
	}
}
