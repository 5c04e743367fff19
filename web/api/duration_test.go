package api_test

import (
	"net/http"
	"testing"
)

// TestAPageOfMessagesTellsHowLongATurnTook: in its last answer, once.
func TestAPageOfMessagesTellsHowLongATurnTook(t *testing.T) {
	w := open(t, toolAgent())
	w.ok(t, "POST", "/threads/t1/runs/wait", `{"input":{"messages":"weather"}}`)
	data := w.ok(t, "GET", "/api/threads/t1/messages/page", "")["data"].([]any)
	for i, one := range data {
		kwargs := one.(map[string]any)["content"].(map[string]any)["additional_kwargs"].(map[string]any)
		if seconds, told := kwargs["turn_duration"].(float64); told != (i == len(data)-1) || seconds < 0 ||
			seconds > 60 {
			t.Errorf("message %d: %v", i, kwargs)
		}
	}
	w.send(t, "GET", "/threads/t1/state", "").holds(t, "state", "!turn_duration")
}

// TestAnEmptyThreadIDIsNoID: natively; LangGraph's routes make one.
func TestAnEmptyThreadIDIsNoID(t *testing.T) {
	w := open(t, sayAgent("one"))
	w.send(t, "POST", "/api/threads", `{"thread_id":""}`).want(t, "natively", http.StatusUnprocessableEntity)
	for _, path := range []string{"/threads", "/api/threads"} {
		w.ok(t, "POST", path, `{"thread_id":null}`)
		w.ok(t, "POST", path, `{}`)
	}
	w.ok(t, "POST", "/threads", `{"thread_id":""}`)
}
