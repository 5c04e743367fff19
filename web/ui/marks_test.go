package ui_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/runs"
	"fawn/agent/runs/request"
	"fawn/web/webtest"
)

// dot is what the list beside another page says of a thread: the class of its dot.
func (w *world) dot(thread string) string {
	w.Helper()
	row := between(w.get("/ui/threads", "X-Fawn", "1").body, `id="tl-`+thread+`"`, "</a>")
	if row == "" {
		w.Fatalf("%s is not in the list", thread)
	}
	return between(row, `class="dot `, `"`)
}

// state is what a page that is not on screen learns.
func (w *world) state(thread, prefs string) (n struct {
	Running bool
	State   string
	Notice  *struct{ Title, Body string }
}) {
	w.Helper()
	a := w.get("/ui/threads/"+thread+"/status", "X-Fawn", "1", "Cookie", "fawn_prefs="+prefs)
	if err := json.Unmarshal([]byte(a.body), &n); err != nil || a.StatusCode != http.StatusOK {
		w.Fatalf("%d %s", a.StatusCode, a.body)
	}
	return n
}

func TestNewsStaysUntilTheThreadIsRead(t *testing.T) {
	w := open(t,
		&agenttest.Script{Replies: []agenttest.Reply{agenttest.Say("One."), {Err: errors.New("the model is away")},
			agenttest.Say("Three.")}})
	w.begin("t1", "Hi")
	w.settle("t1")
	webtest.Same(t, "finished", w.dot("t1"), "unread")
	if got := w.state("t1", ""); got.State != "unread" || got.Notice != nil {
		t.Errorf("without a choice: %+v", got)
	}
	if got := w.state("t1", "notify=on"); got.Notice == nil || got.Notice.Title != "The answer is ready" ||
		got.Notice.Body != "About: Hi" {
		t.Errorf("wanted: %+v", got)
	}
	if got := w.state("t1", "notify=on&notify_finished=off"); got.Notice != nil {
		t.Errorf("not this kind: %+v", got)
	}
	webtest.Same(t, "asking is not reading", w.dot("t1"), "unread")
	webtest.Holds(t, "the open chat has a dot", between(w.page("/workspace/chats/t1"), `id="tl-t1"`, "</a>"), "!dot")
	webtest.Same(t, "read", w.dot("t1"), "")

	w.post("/ui/threads/t1/messages", url.Values{"text": {"Again"}})
	w.settle("t1")
	webtest.Same(t, "failed", w.dot("t1"), "failed")
	if got := w.state("t1", "notify=on"); got.Notice == nil || got.Notice.Title != "The run failed" {
		t.Errorf("failed: %+v", got)
	}
	w.page("/workspace/chats/t1")
	webtest.Same(t, "failed and read", w.dot("t1"), "")

	// A stream that was written to its end may have been that of a tab that was just hidden.
	r := w.reader("t1")
	w.post("/ui/threads/t1/messages", url.Values{"text": {"And again"}})
	w.settle("t1")
	r.read(0)
	webtest.Same(t, "written to its end", w.dot("t1"), "unread")
	w.post("/ui/threads/t1/seen", nil)
	webtest.Same(t, "followed", w.dot("t1"), "")
}

func TestAQuestionWaitsInTheListUntilItIsAnswered(t *testing.T) {
	w := open(t, asking(`{"question":"Which town?"}`))
	w.begin("t1", "Compare")
	w.settle("t1")
	w.page("/workspace/chats/t1")
	webtest.Same(t, "read and", w.dot("t1"), "waiting")
	got := w.state("t1", "notify=on")
	if got.Notice == nil || got.Notice.Title != "The agent is waiting for your answer" {
		t.Errorf("%+v", got)
	}
	w.post("/ui/threads/t1/messages", url.Values{"text": {"Lyon"}})
	w.settle("t1")
	webtest.Same(t, "t1", w.dot("t1"), "unread")
}

func TestARunThatStartsLaterIsToldOnThePage(t *testing.T) {
	w := open(t, &agenttest.Script{Replies: []agenttest.Reply{agenttest.Say("Hello.")}})
	w.begin("t1", "Hi")
	w.settle("t1")
	input, err := agent.Encode(map[string]any{
		"messages": []any{map[string]any{"type": "human", "content": "Remind <me>"}},
	})
	must.Do(t, err)
	run, err := w.runs.Start(t.Context(), runs.Request{Thread: "t1", Input: input, AfterSeconds: time.Hour.Seconds()})
	must.Do(t, err)
	page := w.page("/workspace/chats/t1")
	s := between(page, `id="later"`, "</section>")
	webtest.Holds(t, "the page says", s, "Remind &lt;me&gt;", "Scheduled", "datetime=")
	w.post("/ui/threads/t1/queue/"+run.ID+"/remove", url.Values{}).must(t, "the answer", http.StatusSeeOther)
	webtest.Holds(t, "it is still told", w.page("/workspace/chats/t1"), `!id="later"`)
}

func TestABreakpointIsToldInWords(t *testing.T) {
	w := open(t,
		&agenttest.Script{Replies: []agenttest.Reply{agenttest.Call("c1", "echo", `{"a":1}`), agenttest.Say("Done.")}})
	input, err := agent.Encode(map[string]any{"messages": []any{map[string]any{"type": "human", "content": "Go"}}})
	must.Do(t, err)
	_, err = w.runs.Start(t.Context(),
		runs.Request{Thread: "t1", Input: input, InterruptBefore: request.Strings{"tools"}})
	must.Do(t, err)
	w.settle("t1")
	page := w.page("/workspace/chats/t1")
	webtest.Holds(t, "the page does not say that it is a breakpoint", page, "This run is paused at a breakpoint.", "!You stopped this run.")
	w.post("/ui/threads/t1/messages", url.Values{"resume": {"1"}}).must(t, "/ui/threads/t1/messages", http.StatusSeeOther)
	w.settle("t1")
	if page = w.page("/workspace/chats/t1"); strings.Contains(page, "breakpoint") || !strings.Contains(page, "Done.") {
		t.Error("it did not go on")
	}
}
