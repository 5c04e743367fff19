package api_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestARunMayFailAtItsLimit: the caller has the choice between a last answer and the error
// that LangGraph's callers know.
func TestARunMayFailAtItsLimit(t *testing.T) {
	for _, config := range []string{
		`"config":{"recursion_limit":1,"on_recursion_limit":"error"}`,
		`"config":{"recursion_limit":1,"configurable":{"on_recursion_limit":"error"}}`,
		`"config":{"recursion_limit":1},"context":{"on_recursion_limit":"error"}`,
	} {
		w := open(t, toolAgent())
		fs := frames(t,
			w.send(t, "POST", "/threads/t1/runs/stream",
				`{"assistant_id":"lead_agent","input":{"messages":"weather"},`+config+`}`).body)
		failed := fs[len(fs)-2]
		if failed.event != "error" || !strings.Contains(failed.data, `"error":"GraphRecursionError"`) ||
			!strings.Contains(failed.data, "Recursion limit of 1 reached") {
			t.Errorf("%s: %+v", config, failed)
		}
		if a := w.send(t, "GET", "/threads/t1/state", ""); !strings.Contains(a.body, `"next":["tools"]`) {
			t.Errorf("%s: %s", config, a.body)
		}
		values := w.ok(t, "POST", "/threads/t1/runs/wait", `{"assistant_id":"lead_agent","input":null}`)
		if n := len(values["messages"].([]any)); n != 4 {
			t.Errorf("%s: %d messages behind a run that went on", config, n)
		}
	}
	w := open(t, toolAgent())
	a := w.send(t, "POST", "/threads/t1/runs/wait",
		`{"assistant_id":"lead_agent","input":{"messages":"weather"},"config":{"recursion_limit":1}}`)
	if strings.Contains(a.body, "__error__") {
		t.Errorf("without the key: %s", a.body)
	}
	a = w.send(t, "POST", "/threads/t1/runs/wait",
		`{"assistant_id":"lead_agent","input":{"messages":"x"},"config":{"on_recursion_limit":"maybe"}}`)
	if a.status != http.StatusBadRequest || !strings.Contains(a.body, "answer or error") {
		t.Errorf("%d %s", a.status, a.body)
	}
}
