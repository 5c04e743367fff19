package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"fawn/web/webtest"
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
		w.send(t, "GET", "/threads/t1/state", "").holds(t, config, `"next":["tools"]`)
		values := w.ok(t, "POST", "/threads/t1/runs/wait", `{"assistant_id":"lead_agent","input":null}`)
		webtest.Same(t, fmt.Sprintf("%s: messages behind a run that went on", config), len(values["messages"].([]any)), 4)
	}
	w := open(t, toolAgent())
	a := w.send(t, "POST", "/threads/t1/runs/wait",
		`{"assistant_id":"lead_agent","input":{"messages":"weather"},"config":{"recursion_limit":1}}`)
	a.holds(t, "without the key", "!__error__")
	a = w.send(t, "POST", "/threads/t1/runs/wait",
		`{"assistant_id":"lead_agent","input":{"messages":"x"},"config":{"on_recursion_limit":"maybe"}}`)
	a.want(t, "the answer", http.StatusBadRequest, "answer or error")
}
