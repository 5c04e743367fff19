package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/web/webtest"
)

// openInterrupt is the id GET state tells of the thread's only open question, which GET
// thread must tell too.
func openInterrupt(t *testing.T, w *world, thread string) string {
	t.Helper()
	list := w.ok(t, "GET", "/threads/"+thread+"/state", "")["interrupts"].([]any)
	if len(list) != 1 {
		t.Fatalf("%d open questions", len(list))
	}
	id := list[0].(map[string]any)["id"].(string)
	w.send(t, "GET", "/threads/"+thread, "").holds(t, "GET thread tells another id than "+id, id)
	return id
}

// TestAQuestionKeepsItsID: whatever else is written to the thread until the answer comes.
func TestAQuestionKeepsItsID(t *testing.T) {
	w := open(t, askAgent())
	frames := frames(t,
		w.send(t, "POST", "/threads/t1/runs/stream",
			`{"input":{"messages":"paint it"},"stream_mode":["updates"]}`).body)
	id := openInterrupt(t, w, "t1")
	webtest.Holds(t, "the stream tells , the state "+id, frames[len(frames)-2].data, id)
	for what, write := range map[string]func() error{
		"a late title": func() error { return w.m.Retitle(t.Context(), "t1", "", "Painting") },
		"a rename":     func() error { w.ok(t, "POST", "/threads/t1/state", `{"values":{"title":"Red"}}`); return nil },
		"metadata":     func() error { w.ok(t, "PATCH", "/threads/t1", `{"metadata":{"a":1}}`); return nil },
		"artifacts":    func() error { w.ok(t, "POST", "/threads/t1/state", `{"values":{"artifacts":["a.txt"]}}`); return nil },
		"a null run":   func() error { w.ok(t, "POST", "/threads/t1/runs/wait", `{"input":null}`); return nil },
	} {
		must.Do(t, write(), what)
		webtest.Same(t, fmt.Sprintf("%s made of", what), openInterrupt(t, w, "t1"), id)
	}
	values := w.ok(t, "POST", "/threads/t1/runs/wait", `{"command":{"resume":{"`+id+`":"blue"}}}`)
	if last := values["messages"].([]any)[4].(map[string]any); last["content"] != "Blue it is." {
		t.Errorf("answer %v", last)
	}
}

// TestAnAnswerToNoQuestionIsRefused: on every route, naming what could be answered.
func TestAnAnswerToNoQuestionIsRefused(t *testing.T) {
	w := open(t, askAgent())
	stale := strings.Repeat("0123456789abcdef", 2)
	w.ok(t, "POST", "/threads/t1/runs/wait", `{"input":{"messages":"paint it"}}`)
	id := openInterrupt(t, w, "t1")
	before := w.send(t, "GET", "/threads/t1/runs", "").body
	for _, how := range []string{"runs", "runs/wait", "runs/stream"} {
		w.send(t, "POST", "/threads/t1/"+how, `{"command":{"resume":{"`+stale+`":"blue"}}}`).want(t, how, http.StatusNotFound, stale, id)
	}
	for _, cmd := range []string{
		`"input.respond","params":{"namespace":[],"interrupt_id":"` + stale + `","response":"blue"}`,
		`"run.start","params":{"assistant_id":"lead_agent","input":{"` + stale + `":"blue"}}`,
	} {
		out := w.ok(t, "POST", "/threads/t1/commands", `{"id":1,"method":`+cmd+`}`)
		if out["error"] != "no_such_interrupt" || !strings.Contains(out["message"].(string), id) {
			t.Errorf("%s: %v", cmd, out)
		}
	}
	webtest.Same(t, "a refused answer made a run", w.send(t, "GET", "/threads/t1/runs", "").body, before)
	w.ok(t, "POST", "/threads/t1/runs/wait", `{"command":{"resume":"blue"}}`)
	w.send(t, "POST", "/threads/t1/runs/wait", `{"command":{"resume":{"`+id+`":"blue"}}}`).want(t, "answered twice", http.StatusNotFound, "no question is open")
	w.send(t, "POST", "/threads/new/runs", `{"command":{"resume":{"`+id+`":"blue"}}}`).want(t, "on a thread that is not there", http.StatusNotFound)
}

// TestInboxesSeeAndAnswerQuestions reads a question as inboxes for LangChain's requests do, in a search, and answers it
// with their decisions.
func TestInboxesSeeAndAnswerQuestions(t *testing.T) {
	for _, c := range []struct{ resume, says string }{
		{`{"decisions":[{"type":"respond","message":"blue"}]}`, "blue"},
		{`{"decisions":[{"type":"reject","message":"no colour"}]}`, "no colour"},
		{`{"decisions":[{"type":"reject"}]}`, "I don't want to answer that."},
		{`[{"type":"response","args":"blue"}]`, "blue"},
		{`[{"type":"ignore"}]`, "I don't want to answer that."},
	} {
		w := open(t, askAgent())
		w.ok(t, "POST", "/threads/t1/runs/wait", `{"input":{"messages":"paint it"}}`)
		rows := decode[[]struct {
			Values     struct{ Messages []any }
			Interrupts map[string][]struct {
				ID    string
				Value struct {
					Question string
					Actions  []struct {
						Name, Description string
						Args              struct{ Question string }
					} `json:"action_requests"`
					Reviews []struct {
						Name    string   `json:"action_name"`
						Allowed []string `json:"allowed_decisions"`
					} `json:"review_configs"`
				}
			}
		}](t, w.send(t, "POST", "/threads/search", `{"status":"interrupted"}`).body)
		if len(rows) != 1 || len(rows[0].Values.Messages) < 2 || len(rows[0].Interrupts) != 1 {
			t.Fatalf("the search shows %+v", rows)
		}
		for _, list := range rows[0].Interrupts {
			q := list[0].Value
			if q.Question != "Which colour?" || len(q.Actions) != 1 || q.Actions[0].Name != "ask_clarification" ||
				q.Actions[0].Args.Question != q.Question || len(q.Reviews) != 1 || q.Reviews[0].Name != "ask_clarification" {
				t.Errorf("the question is %+v", q)
			}
		}
		light := w.send(t, "POST", "/api/threads/search", `{}`).body
		webtest.Holds(t, "the row of DeerFlow's gateway", light, `"interrupts":{}`, "!paint it")
		values := w.ok(t, "POST", "/threads/t1/runs/wait", `{"command":{"resume":`+c.resume+`}}`)
		messages := values["messages"].([]any)
		webtest.Same[any](t, fmt.Sprintf("%s became", c.resume), messages[len(messages)-2].(map[string]any)["content"], c.says)
	}
}
