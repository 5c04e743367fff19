package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/web/webtest"
)

// rpc is what an agent answers.
type rpc struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result"`
	Error   *struct {
		Code    int
		Message string
	}
}

// a2aTask is a task, or an update of one.
type a2aTask struct {
	Kind, ID, TaskID, ContextID string
	Final                       bool
	Status                      struct {
		State, Timestamp string
		Message          *a2aMessage
	}
	Artifacts []a2aArtifact
	Artifact  *a2aArtifact
	History   *[]a2aMessage
}

type a2aArtifact struct {
	ArtifactID, Name string
	Parts            []a2aPart
}

type a2aMessage struct {
	Kind, Role, MessageID, TaskID, ContextID string
	Parts                                    []a2aPart
}

type a2aPart struct {
	Kind, Text string
	Data       json.RawMessage
}

func said(parts []a2aPart) string {
	var out string
	for _, p := range parts {
		out += p.Text + string(p.Data)
	}
	return out
}

// call is one call of an agent.
func (w *world) call(t *testing.T, method, params string) rpc {
	t.Helper()
	a := w.send(t, "POST", "/a2a/lead_agent", fmt.Sprintf(`{"jsonrpc":"2.0","id":"c1","method":%q,"params":%s}`,
		method, params), "Accept", "application/json")
	a.must(t, method, 200)
	r := decode[rpc](t, a.body)
	if r.Version != "2.0" || string(r.ID) != `"c1"` || (r.Result == nil) == (r.Error == nil) {
		t.Errorf("%s: %s", method, a.body)
	}
	return r
}

// sends is a call that must succeed with a task.
func (w *world) sends(t *testing.T, method, params string) a2aTask {
	t.Helper()
	r := w.call(t, method, params)
	if r.Error != nil {
		t.Fatalf("%s: %+v", method, *r.Error)
	}
	return decode[a2aTask](t, string(r.Result))
}

func (w *world) fails(t *testing.T, method, params string, code int) {
	t.Helper()
	if r := w.call(t, method, params); r.Error == nil || r.Error.Code != code || r.Error.Message == "" {
		t.Errorf("%s %s: %s %+v, want error %d", method, params, r.Result, r.Error, code)
	}
}

// saying are the parameters of a message with a text.
func saying(text, more string) string {
	return fmt.Sprintf(`{"message":{"role":"user","messageId":"m-%s","parts":[{"kind":"text","text":%q}]%s}}`,
		strings.ReplaceAll(text, " ", "-"), text, more)
}

// TestAnAgentTalksToAnotherByA2A: a message makes a task in a context, the next one of the
// context goes on with the conversation, and the task can be read later.
func TestAnAgentTalksToAnotherByA2A(t *testing.T) {
	w := open(t, sayAgent("Hello ", "you."))
	task := w.sends(t, "message/send", saying("hi", ""))
	if task.Kind != "task" || task.Status.State != "completed" || task.Status.Timestamp == "" ||
		len(task.Artifacts) != 1 || said(task.Artifacts[0].Parts) != "Hello you." {
		t.Fatalf("task: %+v", task)
	}
	h := *task.History
	if len(h) != 2 || h[0].Role != "user" || said(h[0].Parts) != "hi" || h[0].MessageID != "m-hi" ||
		h[1].Role != "agent" || h[1].TaskID != task.ID || h[1].ContextID != task.ContextID {
		t.Errorf("history: %+v", h)
	}
	again := w.sends(t, "tasks/get", fmt.Sprintf(`{"id":%q,"historyLength":1}`, task.ID))
	if again.ID != task.ID || again.Status.State != "completed" || said(again.Artifacts[0].Parts) != "Hello you." ||
		len(*again.History) != 1 {
		t.Errorf("read later: %+v", again)
	}
	_, run, _ := strings.Cut(task.ID, ":")
	by := w.sends(t, "tasks/get", fmt.Sprintf(`{"id":%q,"contextId":%q,"historyLength":0}`, run, task.ContextID))
	if by.ID != task.ID || by.History != nil {
		t.Errorf("by its run: %+v", by)
	}
	next := w.sends(t, "SendMessage", saying("more", `,"contextId":"`+task.ContextID+`"`))
	_ = next
	got := len(w.ok(t, "GET", "/threads/"+task.ContextID+"/state", "")["values"].(map[string]any)["messages"].([]any))
	if got < 3 {
		t.Errorf("the context has %d messages", got)
	}
	for method, params := range map[string]string{
		"tasks/get":    `{"id":"none:none"}`,
		"tasks/cancel": fmt.Sprintf(`{"id":%q,"contextId":"other"}`, task.ID),
	} {
		w.fails(t, method, params, -32001)
	}
	w.fails(t, "tasks/cancel", fmt.Sprintf(`{"id":%q}`, task.ID), -32002)
	w.fails(t, "message/send", saying("late", `,"taskId":"`+task.ID+`"`), -32004)
}

// TestA2AOfVersion1 has names of its own for methods, states and roles.
func TestA2AOfVersion1(t *testing.T) {
	w := open(t,
		&agent.Agent{
			Model: &agenttest.Script{Replies: []agenttest.Reply{agenttest.Say("Hello."), agenttest.Say("Hello.")}},
		})
	r := w.call(t, "SendMessage", `{"message":{"role":"ROLE_USER","messageId":"m1","parts":[{"text":"hi"}]}}`)
	body := decode[struct{ Task a2aTask }](t, string(r.Result)).Task
	if body.Status.State != "TASK_STATE_COMPLETED" || (*body.History)[0].Role != "ROLE_USER" ||
		said(body.Artifacts[0].Parts) != "Hello." {
		t.Errorf("%s", r.Result)
	}
	a := w.send(t, "POST", "/a2a/lead_agent",
		`{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage","params":{"message":{"role":"ROLE_USER","messageId":"m2","parts":[{"text":"hi"}]}}}`)
	var names []string
	for _, u := range updates(t, a.body) {
		for name := range decode[map[string]any](t, string(u.Result)) {
			names = append(names, name)
		}
	}
	if got := strings.Join(slices.Compact(names), " "); got != "task statusUpdate artifactUpdate statusUpdate" ||
		!strings.Contains(a.body, `"TASK_STATE_COMPLETED"`) {
		t.Errorf("updates: %s\n%s", got, a.body)
	}
}

// TestA2AAnswersAQuestion in the task that asks it, or cancels that.
func TestA2AAnswersAQuestion(t *testing.T) {
	w := open(t, askAgent())
	asked := w.sends(t, "message/send", saying("paint", ""))
	if asked.Status.State != "input-required" || asked.Status.Message == nil ||
		said(asked.Status.Message.Parts) != "Which colour?" ||
		!strings.Contains(said(asked.Artifacts[0].Parts), `"question":"Which colour?"`) {
		t.Fatalf("asked: %+v", asked)
	}
	done := w.sends(t, "message/send", saying("blue", `,"taskId":"`+asked.ID+`"`))
	if done.ID != asked.ID || done.Status.State != "completed" || said(done.Artifacts[0].Parts) != "Blue it is." {
		t.Errorf("answered: %+v", done)
	}
	if later := w.sends(t, "tasks/get", fmt.Sprintf(`{"id":%q}`, asked.ID)); later.Status.State != "completed" {
		t.Errorf("later: %+v", later)
	}

	w = open(t, askAgent())
	asked = w.sends(t, "message/send", saying("paint", ""))
	id := decode[struct{ ID string }](t, string(asked.Artifacts[0].Parts[0].Data)).ID
	resume := fmt.Sprintf(`{"message":{"role":"user","messageId":"m2","taskId":%q,"parts":[{"kind":"data","data":{"resume":[{"id":%q,"value":"blue"}]}}]}}`,
		asked.ID, id)
	if done := w.sends(t, "message/send", resume); done.Status.State != "completed" {
		t.Errorf("answered by its id: %+v", done)
	}
	w.fails(t, "message/send", `{"message":{"role":"user","messageId":"m3","parts":[{"kind":"data","data":{"resume":"x"}}]}}`, -32602)

	w = open(t, askAgent())
	asked = w.sends(t, "message/send", saying("paint", ""))
	if ended := w.sends(t, "tasks/cancel", fmt.Sprintf(`{"id":%q}`, asked.ID)); ended.Status.State != "canceled" {
		t.Errorf("canceled: %+v", ended)
	}
	if st := w.ok(t, "GET", "/threads/"+asked.ContextID, ""); st["status"] != "idle" {
		t.Errorf("its thread is %v", st["status"])
	}
	w.fails(t, "tasks/cancel", fmt.Sprintf(`{"id":%q}`, asked.ID), -32002)
}

// updates are the answers in a stream.
func updates(t *testing.T, stream string) []rpc {
	t.Helper()
	var out []rpc
	for _, f := range frames(t, stream) {
		webtest.Same(t, "event", f.event, "message")
		out = append(out, decode[rpc](t, f.data))
	}
	return out
}

func TestA2AStreamsUpdatesOfATask(t *testing.T) {
	w := open(t, toolAgent())
	stream := func(w *world, params string) []rpc {
		t.Helper()
		a := w.send(t, "POST", "/api/langgraph/a2a/lead_agent",
			`{"jsonrpc":"2.0","id":7,"method":"message/stream","params":`+params+`}`, "Accept", "text/event-stream")
		if a.status != 200 || a.header.Get("Content-Type") != "text/event-stream" {
			t.Fatalf("%d %v %s", a.status, a.header, a.body)
		}
		return updates(t, a.body)
	}
	list := stream(w, saying("weather please", ""))
	var kinds []string
	var last a2aTask
	answer, artifact := "", ""
	for i, r := range list {
		u := decode[a2aTask](t, string(r.Result))
		if string(r.ID) != "7" || u.ContextID == "" || i > 0 && u.TaskID == "" {
			t.Errorf("update: %s", r.Result)
		}
		if m := u.Status.Message; m != nil {
			answer = said(m.Parts)
		}
		if u.Artifact != nil {
			artifact = said(u.Artifact.Parts)
		}
		if k := u.Kind + " " + u.Status.State; len(kinds) == 0 || kinds[len(kinds)-1] != k {
			kinds = append(kinds, k)
		}
		last = u
	}
	got := strings.Join(kinds, ", ")
	want := "task submitted, status-update working, artifact-update , status-update completed"
	if got != want || !last.Final {
		t.Errorf("updates: %s (%+v)\nwant %s", got, last, want)
	}
	if answer != "It is sunny." || artifact != answer {
		t.Errorf("said %q, artifact %q", answer, artifact)
	}
	if list := stream(open(t, failAgent()), saying("fail", "")); !strings.Contains(string(list[len(list)-1].Result),
		`"state":"failed"`) || !strings.Contains(string(list[len(list)-1].Result), "kaboom") {
		t.Errorf("failed: %s", list[len(list)-1].Result)
	}
	if list := stream(open(t, askAgent()), saying("paint", "")); !strings.Contains(string(list[len(list)-1].Result),
		`"input-required"`) {
		t.Errorf("asked: %s", list[len(list)-1].Result)
	}
	if list := stream(w, `{"message":{}}`); len(list) != 1 || list[0].Error == nil || list[0].Error.Code != -32602 {
		t.Errorf("refused: %+v", list)
	}
}

// TestA2ACancelsWhatRuns while its stream is read.
func TestA2ACancelsWhatRuns(t *testing.T) {
	hangs := &agent.Tool{Name: "hang", Schema: json.RawMessage(`{"type":"object"}`),
		Run: func(ctx context.Context, _ *agent.Turn, _ agent.ToolCall) (agent.Result, error) {
			<-ctx.Done()
			return agent.Result{}, ctx.Err()
		}}
	w := open(t,
		&agent.Agent{Tools: []*agent.Tool{hangs},
			Model: &agenttest.Script{Replies: []agenttest.Reply{agenttest.Call("c1", "hang", `{}`)}}})
	sent := make(chan a2aTask)
	go func() {
		a := w.send(t, "POST", "/a2a/lead_agent",
			`{"jsonrpc":"2.0","id":"c1","method":"message/send","params":`+saying("hang", `,"contextId":"ctx"`)+`}`)
		sent <- decode[a2aTask](t, string(decode[rpc](t, a.body).Result))
	}()
	var run string
	w.eventually(t, func() bool {
		a := w.send(t, "GET", "/threads/ctx/runs", "")
		if a.status != 200 {
			return false
		}
		list := decode[[]map[string]any](t, a.body)
		if len(list) == 0 || list[0]["status"] != "running" {
			return false
		}
		run = list[0]["run_id"].(string)
		return true
	})
	if got := w.sends(t, "tasks/get", `{"id":"ctx:`+run+`"}`); got.Status.State != "working" {
		t.Errorf("while it runs: %+v", got)
	}
	if got := w.sends(t, "tasks/cancel", `{"id":"ctx:`+run+`"}`); got.Status.State != "canceled" {
		t.Errorf("canceled: %+v", got)
	}
	if got := <-sent; got.Status.State != "canceled" {
		t.Errorf("whoever waits is told %+v", got)
	}
}

func TestA2ARefusesWhatIsNoCall(t *testing.T) {
	w := open(t, sayAgent("hi"))
	for body, code := range map[string]int{
		`{`: -32700, ``: -32700, `[]`: -32600, `{"id":"x","method":"message/send"}`: -32600,
		`{"jsonrpc":"2.0","id":{},"method":"tasks/get"}`: -32600, `{"jsonrpc":"2.0","method":"tasks/get"}`: -32600,
		`{"jsonrpc":"2.0","id":1}`: -32600, `{"jsonrpc":"2.0","id":1,"method":3}`: -32601,
		`{"jsonrpc":"2.0","id":1,"method":"tasks/list"}`:                  -32601,
		`{"jsonrpc":"2.0","id":1,"method":"tasks/get"}`:                   -32602,
		`{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":3}}`: -32602,
		`{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":[]}`:       -32602,
	} {
		a := w.send(t, "POST", "/a2a/lead_agent", body)
		if r := decode[rpc](t, a.body); a.status != 200 || r.Error == nil || r.Error.Code != code {
			t.Errorf("%s: %d %s, want %d", body, a.status, a.body, code)
		}
	}
	message := func(part, more string) string {
		return `{"message":{"role":"user","messageId":"m","parts":[` + part + `]` + more + `}}`
	}
	const text = `{"kind":"text","text":"x"}`
	for params, code := range map[string]int{
		`{}`: -32602, `{"message":{"role":"user","parts":[` + text + `]}}`: -32602, message("", ""): -32602,
		`{"message":{"role":"robot","messageId":"m","parts":[` + text + `]}}`: -32602,
		message(text, `,"contextId":"../x"`):                                  -32602,
		message(`{"kind":"file","file":{"uri":"http://x"}}`, ""):              -32005,
		message(`{"kind":"odd"}`, ""):                                         -32005,
		message(`{"kind":"data","data":[1]}`, ""):                             -32005,
		message(text, `,"taskId":"t:r"`):                                      -32001,
		`{"configuration":{"historyLength":11},"message":{"role":"user","messageId":"m","parts":[` + text + `]}}`: -32602,
	} {
		w.fails(t, "message/send", params, code)
	}
	a := w.send(t, "POST", "/a2a/none",
		`{"jsonrpc":"2.0","id":1,"method":"message/send","params":`+saying("hi", "")+`}`)
	a.holds(t, "an unknown assistant", "-32602")
	w.send(t, "POST", "/a2a/lead_agent", `{"jsonrpc":"2.0","id":1,"method":"message/stream","params":`+saying("hi", "")+`}`, "Accept", "application/json").want(t, "a stream for whoever cannot read it", 400)
}

func TestAgentCard(t *testing.T) {
	w := open(t, sayAgent("hi"))
	id := decode[[]map[string]any](t, w.send(t, "POST", "/assistants/search", `{}`).body)[0]["assistant_id"].(string)
	for path, prefix := range map[string]string{"/.well-known/agent-card.json?assistant_id=" + id: "",
		"/.well-known/agent-card.json":                                  "",
		"/api/langgraph/.well-known/agent.json?assistant_id=lead_agent": "/api/langgraph", "/api/a2a/" + id: "/api",
		"/a2a/" + id + "/.well-known/agent-card.json": ""} {
		card := w.ok(t, "GET", path, "")
		if card["url"] != w.url+prefix+"/a2a/"+id || card["name"] != "lead_agent" ||
			card["preferredTransport"] != "JSONRPC" || card["capabilities"].(map[string]any)["streaming"] != true ||
			len(card["skills"].([]any)) != 1 {
			t.Errorf("%s: %v", path, card)
		}
	}
	mine := w.ok(t, "POST", "/assistants",
		`{"graph_id":"lead_agent","name":"Painter","description":"paints"}`)["assistant_id"].(string)
	card := w.ok(t, "GET", "/.well-known/agent-card.json?assistant_id="+mine, "")
	if card["name"] != "Painter" || card["description"] != "paints" || !strings.HasSuffix(card["url"].(string), mine) {
		t.Errorf("an assistant of one's own: %v", card)
	}
	w.send(t, "GET", "/.well-known/agent-card.json?assistant_id=none", "").want(t, "an unknown one", 404)
}
