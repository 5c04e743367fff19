package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/store"
)

// TestAStatelessRunLeavesNoChat: unless it is told to, or has been given a thread.
func TestAStatelessRunLeavesNoChat(t *testing.T) {
	threads := func(w *world) string { return w.send(t, "POST", "/threads/search", `{"select":["thread_id"]}`).body }
	for _, c := range []struct {
		mount, more string
		kept        bool
	}{
		{"", "", false}, {"/api/langgraph", "", false}, {"", `,"on_completion":"delete"`, false},
		{"", `,"on_completion":null`, false}, {"", `,"on_completion":"keep"`, true}, {"/api", "", true},
		{"/api", `,"on_completion":"delete"`, false}, {"", `,"config":{"configurable":{"thread_id":"mine"}}`, true},
	} {
		for _, how := range []string{"/runs", "/runs/wait", "/runs/stream"} {
			w := open(t, sayAgent("one"))
			a := w.send(t, "POST", c.mount+how, `{"assistant_id":"lead_agent","input":{"messages":"hi"}`+c.more+`}`)
			if a.status != http.StatusOK || how != "/runs" && !strings.Contains(a.body, "one") {
				t.Fatalf("%s%s %s: %d %s", c.mount, how, c.more, a.status, a.body)
			}
			if _, err := w.m.Wait(t.Context(), runID(t, a.header)); err != nil && c.kept {
				t.Fatal(err)
			}
			if c.kept {
				if list := threads(w); list == "[]" {
					t.Errorf("%s%s %s: the thread is gone", c.mount, how, c.more)
				}
				continue
			}
			w.eventually(t, func() bool { return threads(w) == "[]" })
			w.eventually(t, func() bool {
				marks, err := w.db.KVs(t.Context(), store.Global, "stateless", "")
				return err == nil && len(marks) == 0
			})
		}
	}
}

// TestAStatelessRunIsReadToItsEnd: who joined it gets its result before the thread goes, and
// a batch leaves nothing either.
func TestAStatelessRunIsReadToItsEnd(t *testing.T) {
	gate := make(chan struct{})
	one := agenttest.Say("one")
	one.Before = gate
	w := open(t, &agent.Agent{Model: &agenttest.Script{Replies: []agenttest.Reply{one}}})
	run := w.send(t, "POST", "/runs", `{"assistant_id":"lead_agent","input":{"messages":"hi"}}`)
	thread := decode[map[string]any](t, run.body)["thread_id"].(string)
	joined := make(chan answer)
	go func() { joined <- w.send(t, "GET", "/runs/"+runID(t, run.header)+"/join", "") }()
	w.eventually(t, func() bool { return w.api.Reading(thread) })
	close(gate)
	(<-joined).holds(t, "joined", "one")
	w.send(t, "POST", "/runs/batch", `[{"assistant_id":"lead_agent","input":{"messages":"1"}},{"assistant_id":"lead_agent","input":{"messages":"2"}}]`)
	w.eventually(t, func() bool { return w.send(t, "POST", "/threads/search", `{}`).body == "[]" })
}

// TestARunNamesItsAssistant: except natively, where DeerFlow's default answers.
func TestARunNamesItsAssistant(t *testing.T) {
	w := open(t, sayAgent("one"))
	for _, mount := range []string{"", "/api/langgraph"} {
		for _, path := range []string{"/threads/t1/runs", "/threads/t1/runs/wait", "/threads/t1/runs/stream", "/runs",
			"/runs/wait", "/runs/stream", "/runs/crons"} {
			a := w.send(t, "POST", mount+path, `{"assistant_id":null,"schedule":"0 0 * * *","input":{"messages":"hi"}}`)
			a.want(t, fmt.Sprintf("%s%s", mount, path), http.StatusUnprocessableEntity, `"assistant_id"`)
		}
	}
	w.send(t, "POST", "/api/threads/t1/runs/wait", `{"assistant_id":null,"input":{"messages":"hi"}}`).want(t, "natively", http.StatusOK)
	w.send(t, "POST", "/runs/batch", `[{"input":{"messages":"hi"}}]`).want(t, "a batch", http.StatusUnprocessableEntity)
}
