package api_test

import (
	"net/http"
	"strings"
	"testing"
)

func TestCopyIsAThreadOfItsOwn(t *testing.T) {
	w := open(t, sayAgent("hi"))
	w.send(t, "POST", "/threads", `{"thread_id":"t1","metadata":{"k":12345678901234567890}}`)
	w.send(t, "POST", "/threads/t1/runs/wait", `{"input":{"messages":["go"]}}`)
	for _, mount := range []string{"", "/api/langgraph", "/api"} {
		c := w.send(t, "POST", mount+"/threads/t1/copy", "") // no body, as the SDKs send it
		c.must(t, "the answer", http.StatusOK, `12345678901234567890`)
		copied := decode[map[string]any](t, c.body)
		id := copied["thread_id"].(string)
		if id == "t1" || copied["status"] != "idle" || copied["metadata"].(map[string]any)["thread_id"] != id {
			t.Errorf("copy %s", c.body)
		}
		old := w.send(t, "POST", "/threads/t1/history", `{"limit":100}`).body
		now := w.send(t, "POST", "/threads/"+id+"/history", `{"limit":100}`).body
		if strings.ReplaceAll(old, `"t1"`, `"`+id+`"`) != now {
			t.Errorf("history of the copy\n%s\nof the source\n%s", now, old)
		}
	}
	for _, path := range []string{"/threads/none/copy", "/api/threads/none/branches"} {
		w.send(t, "POST", path, `{"message_id":"x"}`).want(t, path, http.StatusNotFound)
	}
}

func TestBranchesOfDeerFlow(t *testing.T) {
	w := open(t, sayAgent("hi"))
	w.send(t, "POST", "/threads/t1/runs/wait", `{"input":{"messages":[{"type":"human","id":"h1","content":"go"}]}}`)
	w.send(t, "POST", "/threads/t1/runs/wait", `{"input":{"messages":[{"type":"human","id":"h2","content":"on"}]}}`)
	msgs := w.ok(t, "GET", "/threads/t1/state", "")["values"].(map[string]any)["messages"].([]any)
	id := func(i int) string { return msgs[i].(map[string]any)["id"].(string) }
	for _, c := range []struct {
		name, body, files, title string
		messages                 int
	}{
		{"an answer of before", `{"message_id":"` + id(1) + `","message_ids":["h1","` + id(1) + `"],"title":"Another way"}`, "skipped_historical_turn", "Another way", 2},
		{"the last answer", `{"message_id":"` + id(3) + `"}`, "current_thread_best_effort", "", 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := w.ok(t, "POST", "/api/threads/t1/branches", c.body)
			if b["parent_thread_id"] != "t1" || b["workspace_clone_mode"] != c.files ||
				b["parent_checkpoint_id"] == "" {
				t.Errorf("branch %v", b)
			}
			values := w.ok(t, "GET", "/threads/"+b["thread_id"].(string)+"/state", "")["values"].(map[string]any)
			if n := len(values["messages"].([]any)); n != c.messages || c.title != "" && values["title"] != c.title {
				t.Errorf("%d messages, title %v", n, values["title"])
			}
		})
	}
	for _, c := range []struct {
		name, body string
		status     int
	}{
		{"no message", `{}`, 422},
		{"a message that is not there", `{"message_id":"nope"}`, 404},
		{"a long title", `{"message_id":"h1","title":"` + strings.Repeat("x", 300) + `"}`, 422},
	} {
		w.send(t, "POST", "/api/threads/t1/branches", c.body).want(t, c.name, c.status)
	}
}
