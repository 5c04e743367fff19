package api_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/web/webtest"
)

// ids are checkpoint ids of a thread, newest first.
func (w *world) ids(t *testing.T, thread, body string) []string {
	t.Helper()
	a := w.send(t, "POST", "/threads/"+thread+"/history", body)
	a.must(t, "history "+body, 200)
	var out []string
	for _, s := range decode[[]map[string]any](t, a.body) {
		out = append(out, s["checkpoint_id"].(string))
	}
	return out
}

func TestEmptyThreadHasAState(t *testing.T) {
	w := open(t, sayAgent("hi"))
	w.ok(t, "POST", "/threads", `{"thread_id":"t1"}`)
	want := `{"values":{"messages":[],"title":null,"artifacts":[],"uploaded_files":[]},"next":[],"tasks":[],"metadata":{},"created_at":null,"checkpoint":null,"parent_checkpoint":null,"interrupts":[],"step":null,"checkpoint_id":null,"parent_checkpoint_id":null}`
	webtest.Same(t, "got", w.send(t, "GET", "/threads/t1/state", "").body, want)
	webtest.Same(t, "history", w.send(t, "POST", "/threads/t1/history", "").body, "[]")
	webtest.Same(t, "a write of nothing is a read, got", w.send(t, "POST", "/threads/t1/state", "{}").body, want)
}

func TestStateAtCheckpoints(t *testing.T) {
	w := open(t, toolAgent())
	w.send(t, "POST", "/threads/t1/runs/wait", toolBody)
	cps := w.ids(t, "t1", `{"limit":20}`)
	if len(cps) != 5 {
		t.Fatalf("%d checkpoints", len(cps))
	}
	head := w.send(t, "GET", "/threads/t1/state", "").body
	for name, a := range map[string]answer{
		"path":      w.send(t, "GET", "/threads/t1/state/"+cps[0], ""),
		"body":      w.send(t, "POST", "/threads/t1/state/checkpoint", `{"checkpoint":{"checkpoint_id":"`+cps[0]+`","checkpoint_ns":"","thread_id":"t1"},"subgraphs":false}`),
		"no id":     w.send(t, "POST", "/threads/t1/state/checkpoint", `{"checkpoint":{"checkpoint_ns":""}}`),
		"subgraphs": w.send(t, "GET", "/threads/t1/state?subgraphs=true", ""),
	} {
		webtest.Same(t, name, a.body, head)
	}
	first := w.ok(t, "GET", "/threads/t1/state/"+cps[4], "")
	if fmt.Sprint(first["next"], first["parent_checkpoint"], first["step"]) != "[__start__] <nil> -1" {
		t.Errorf("first = %v", first)
	}
	for _, id := range []string{"nope", "1f1e5599-64ff-6ab0-8002-c04e254c3544", "%2e%2e"} {
		w.send(t, "GET", "/threads/t1/state/"+id, "").want(t, "checkpoint "+id, 404)
	}
	a := w.send(t, "POST", "/threads/t1/state/checkpoint",
		`{"checkpoint":{"checkpoint_id":"`+cps[0]+`","thread_id":"t2"}}`)
	a.want(t, "foreign", 400)
	for body, want := range map[string][]string{
		`{"limit":2}`:                 cps[:2],
		``:                            cps,
		`{"before":"` + cps[1] + `"}`: cps[2:],
		`{"before":{"configurable":{"checkpoint_id":"` + cps[1] + `"}}}`:       cps[2:],
		`{"before":{"checkpoint_id":"` + cps[3] + `"},"limit":5}`:              cps[4:],
		`{"metadata":{"source":"input"}}`:                                      cps[3:],
		`{"metadata":{"step":2}}`:                                              cps[1:2],
		`{"checkpoint":{"checkpoint_id":"` + cps[2] + `","checkpoint_ns":""}}`: cps[2:3],
		`{"checkpoint":{"checkpoint_ns":"tools:x"}}`:                           nil,
		`{"limit":null,"before":null,"metadata":null,"checkpoint":null}`:       cps,
	} {
		if got := w.ids(t, "t1", body); strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("history %s = %v\nwant %v", body, got, want)
		}
	}
	webtest.Same(t, "GET history", len(decode[[]any](t, w.send(t, "GET", "/threads/t1/history?limit=3&before="+cps[1], "").body)), 3)
	for body, want := range map[string]int{`{"limit":0}`: 422, `{"limit":1001}`: 422, `{"before":{}}`: 422,
		`{"before":5}`: 422, `{"metadata":1}`: 422, `{"checkpoint":1}`: 422} {
		w.send(t, "POST", "/threads/t1/history", body).want(t, "history "+body, want)
	}
}

func TestUpdateStateReducesAndForks(t *testing.T) {
	w := open(t, sayAgent("one"))
	w.send(t, "POST", "/threads/t1/runs/wait", `{"input":{"messages":[{"role":"user","content":"hi","id":"h1"}]}}`)
	base := w.ids(t, "t1", "")
	up := w.ok(t, "POST", "/threads/t1/state",
		`{"values":{"title":"Renamed","messages":[{"role":"user","content":"more"}],"unknown":1},"as_node":"user"}`)
	if up["configurable"].(map[string]any)["checkpoint_id"] != up["checkpoint_id"] ||
		fmt.Sprint(up["next"]) != "[model]" {
		t.Errorf("update = %v", up)
	}
	if meta := up["metadata"].(map[string]any); meta["source"] != "update" || up["parent_checkpoint_id"] != base[0] {
		t.Errorf("update = %v", up)
	}
	th := w.ok(t, "GET", "/threads/t1", "")
	if v := th["values"].(map[string]any); v["title"] != "Renamed" || len(v["messages"].([]any)) != 3 {
		t.Errorf("values = %v", v)
	}
	w.send(t, "POST", "/threads/search", `{"ids":["t1"]}`).holds(t, "the thread's title does not follow the state", "Renamed")
	// A null-input run answers the message that was written.
	w.send(t, "POST", "/threads/t1/runs/wait", `{"input":null}`).holds(t, "run after update", "done.")
	// Back to before it all.
	fork := w.ok(t, "POST", "/threads/t1/state", `{"values":{},"checkpoint_id":"`+base[1]+`"}`)
	if fork["metadata"].(map[string]any)["source"] != "fork" || fork["parent_checkpoint_id"] != base[1] ||
		fmt.Sprint(fork["next"]) != "[model]" {
		t.Errorf("fork = %v", fork)
	}
	head := w.ok(t, "GET", "/threads/t1/state", "")
	if head["checkpoint_id"] != fork["checkpoint_id"] || w.ids(t, "t1", "")[0] != fork["checkpoint_id"] {
		t.Error("the fork is not the head")
	}
	children := 0
	for _, s := range decode[[]map[string]any](t, w.send(t, "POST", "/threads/t1/history", `{"limit":50}`).body) {
		if s["parent_checkpoint_id"] == base[1] {
			children++
		}
	}
	webtest.Same(t, "branches", children, 2)
	for _, c := range []struct {
		path, body string
		status     int
		want       string
	}{
		{"/threads/t1/state", `{"values":{"messages":[{"x":1}]}}`, 400, "Invalid message at values.messages[0]"},
		{"/threads/t1/state", `{"values":{"messages":[{"type":"remove","id":"nope"}]}}`, 400, "unknown message id"},
		{"/threads/t1/state", `{"values":[1]}`, 422, `"values"`},
		{"/threads/t1/state", `{"values":{},"checkpoint_id":"nope"}`, 404, "Checkpoint nope not found"},
		{"/threads/t1/state", `{"values":{},"checkpoint":5}`, 422, `"checkpoint"`},
		{"/threads/none/state", `{"values":{"title":"x"}}`, 404, "Thread with ID none not found"},
		{"/api/threads/t1/state", `{"values":{"unknown":1}}`, 422, "Unknown thread-state field(s): unknown"},
		{"/api/threads/t1/state", `{"values":{"thread_data":{"workspace_path":"/etc"}}}`, 422, "values.thread_data: the folders of a thread are the server's"},
		{"/api/threads/t1/runs", `{"input":{"thread_data":{"workspace_path":"/etc"}}}`, 422, "input.thread_data: the folders of a thread are the server's"},
		{"/api/threads/t1/state", `{"values":{"thread_data":{"workspace_path":"/mnt/user-data/workspace","uploads_path":"/mnt/user-data/uploads","outputs_path":"/mnt/user-data/outputs"}}}`,
			200, `"checkpoint_id"`},
		{"/threads/t1/state", `{"values":{"thread_data":{"workspace_path":"/etc"}}}`, 200, `"checkpoint_id"`},
		{"/api/threads/t1/state", `{"values":{"notes":[]}}`, 422, "Unknown thread-state field(s): notes"},
	} {
		w.send(t, "POST", c.path, c.body).want(t, fmt.Sprintf("%s %s", c.path, c.body), c.status, c.want)
	}
}

func TestQuestionIsShownUntilItIsAnswered(t *testing.T) {
	for name, answer := range map[string]func(w *world){
		"a new message": func(w *world) { w.send(t, "POST", "/threads/t1/runs/wait", `{"input":{"messages":"blue"}}`) },
		"resume":        func(w *world) { w.send(t, "POST", "/threads/t1/runs/wait", `{"command":{"resume":"blue"}}`) },
		"resume by id": func(w *world) {
			id := w.ok(t, "GET", "/threads/t1/state", "")["interrupts"].([]any)[0].(map[string]any)["id"].(string)
			w.send(t, "POST", "/threads/t1/runs/wait",
				`{"command":{"resume":{"`+id+`":"blue"},"update":{"title":"T"}}}`)
		},
		"state, then a run": func(w *world) {
			w.send(t, "POST", "/threads/t1/state", `{"values":{"messages":[{"role":"user","content":"blue"}]}}`)
			w.send(t, "POST", "/threads/t1/runs/wait", `{"input":null}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := open(t, askAgent())
			w.send(t, "POST", "/threads/t1/runs/wait", `{"input":{"messages":"do it"}}`)
			state := w.ok(t, "GET", "/threads/t1/state", "")
			msgs := state["values"].(map[string]any)["messages"].([]any)
			last := msgs[len(msgs)-1].(map[string]any)
			call := last["tool_calls"].([]any)[0].(map[string]any)
			f := call["function"].(map[string]any)
			if f["name"] != "ask_clarification" || !strings.Contains(f["arguments"].(string), "Which colour?") {
				t.Errorf("call = %v", call)
			}
			if fmt.Sprint(state["next"]) != "[__interrupt__]" || last["type"] != "tool" || last["role"] != "tool" {
				t.Errorf("state = %v", state)
			}
			w.send(t, "POST", "/threads/t1/runs/wait", `{"input":null}`).holds(t, "a run without an answer ran", "!Blue")
			answer(w)
			state = w.ok(t, "GET", "/threads/t1/state", "")
			text := fmt.Sprint(state["values"])
			if fmt.Sprint(state["next"], state["interrupts"]) != "[] []" || !strings.Contains(text, "blue") ||
				!strings.Contains(text, "Blue it is.") {
				t.Errorf("answered: %v", state)
			}
		})
	}
}

func TestImagesAreReadWhenAskedFor(t *testing.T) {
	w := open(t, sayAgent("hi"))
	w.ok(t, "POST", "/threads", `{"thread_id":"t1"}`)
	must.Do(t, w.dirs.Create("t1"))
	err := os.WriteFile(filepath.Join(w.dirs.Root, "threads/t1/user-data/uploads/a.png"), []byte("\x89PNG"), 0o600)
	must.Do(t, err)
	w.ok(t, "POST", "/threads/t1/state",
		`{"values":{"viewed_images":{"/mnt/user-data/uploads/a.png":{"mime_type":"image/png","size":4,"actual_path":"/mnt/user-data/uploads/a.png"},
		"x":{"mime_type":"image/png","size":4,"actual_path":"/mnt/user-data/../../etc/passwd"}}}}`)
	want := `"base64":"` + base64.StdEncoding.EncodeToString([]byte("\x89PNG")) + `"`
	w.send(t, "GET", "/threads/t1/state", "").holds(t, "not asked for", "!base64")
	if a := w.send(t, "GET", "/threads/t1/state?include=images", ""); strings.Count(a.body, "base64") != 1 ||
		!strings.Contains(a.body, want) {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestValuesMayBeAListOfWrites(t *testing.T) {
	w := open(t, sayAgent("hi"))
	w.send(t, "POST", "/threads", `{"thread_id":"t1"}`)
	s := w.ok(t, "POST", "/threads/t1/state",
		`{"values":[{"title":"one","messages":["a"]},["title","two"],{"messages":[{"role":"user","content":"b"}]}]}`)
	values := s["values"].(map[string]any)
	if n := len(values["messages"].([]any)); n != 2 || values["title"] != "two" {
		t.Errorf("%d messages, title %v", n, values["title"])
	}
	webtest.Same(t, "checkpoints", len(decode[[]any](t, w.send(t, "POST", "/threads/t1/history", "").body)), 1)
	for _, bad := range []string{`[7]`, `[["title"]]`, `[[7,"x"]]`, `[{"messages":[{}]}]`, `["x"]`} {
		if a := w.send(t, "POST", "/threads/t1/state", `{"values":`+bad+`}`); a.status/100 != 4 {
			t.Errorf("%s: %d %s", bad, a.status, a.body)
		}
	}
}

// TestHistoryTellsWhatTasksWrote: a task of a checkpoint that a node followed has the
// node's writes as its result.
func TestHistoryTellsWhatTasksWrote(t *testing.T) {
	w := open(t, toolAgent())
	w.send(t, "POST", "/threads/t1/runs/wait", toolBody)
	list := decode[[]map[string]any](t, w.send(t, "POST", "/threads/t1/history", "").body)
	var got []string
	for _, s := range list {
		for _, task := range s["tasks"].([]any) {
			task := task.(map[string]any)
			types := ""
			for _, m := range task["result"].(map[string]any)["messages"].([]any) {
				types += " " + m.(map[string]any)["type"].(string)
			}
			got = append(got, task["name"].(string)+types)
		}
	}
	webtest.Same(t, ", ", strings.Join(got, ", "), "model ai, tools tool, model ai, __start__ human")
	w.send(t, "POST", "/threads/t1/state", `{"values":{"messages":["what else"]},"as_node":"__start__"}`)
	list = decode[[]map[string]any](t, w.send(t, "POST", "/threads/t1/history", `{"limit":1}`).body)
	if task := list[0]["tasks"].([]any)[0].(map[string]any); task["name"] != "model" || task["result"] != nil {
		t.Errorf("a task that has not run: %v", task)
	}
}

func TestPatchStateMergesMetadata(t *testing.T) {
	w := open(t, sayAgent("hi"))
	w.send(t, "POST", "/threads", `{"thread_id":"t1"}`)
	w.send(t, "PATCH", "/threads/t1/state", `{"metadata":{"a":1}}`).want(t, "an empty thread", http.StatusNoContent)
	w.send(t, "POST", "/threads/t1/runs/wait", `{"input":{"messages":["go"]},"metadata":{"b":2}}`)
	before := w.ok(t, "GET", "/threads/t1/state", "")
	if a := w.send(t, "PATCH", "/threads/t1/state",
		`{"metadata":{"a":12345678901234567890}}`); a.status != http.StatusNoContent || a.body != "" {
		t.Errorf("%d %s", a.status, a.body)
	}
	a := w.send(t, "GET", "/threads/t1/state", "")
	now := decode[map[string]any](t, a.body)
	meta := now["metadata"].(map[string]any)
	if meta["b"] != 2.0 || !strings.Contains(a.body, `"a":12345678901234567890`) || meta["source"] != "fork" {
		t.Errorf("metadata %v", meta)
	}
	if now["parent_checkpoint_id"] != before["checkpoint_id"] || len(now["next"].([]any)) != 0 ||
		w.ok(t, "GET", "/threads/t1", "")["status"] != "idle" {
		t.Errorf("state %s", a.body)
	}
	w.send(t, "PATCH", "/threads/none/state", `{"metadata":{"a":1}}`).want(t, "/threads/none/state", http.StatusNotFound)
	w.send(t, "PATCH", "/threads/t1/state", `{"metadata":7}`).want(t, "/threads/t1/state", http.StatusUnprocessableEntity)
}

// TestBytesOfImagesAreShownWhenAskedFor: also those that a client wrote.
func TestBytesOfImagesAreShownWhenAskedFor(t *testing.T) {
	w := open(t, sayAgent("one"))
	w.ok(t, "POST", "/threads", `{"thread_id":"t1"}`)
	a := w.send(t, "POST", "/threads/t1/state",
		`{"values":{"viewed_images":{"a.png":{"base64":"iVBORw0KGgo=","mime_type":"image/png"}}}}`)
	stream := w.send(t, "POST", "/threads/t1/runs/stream",
		`{"assistant_id":"lead_agent","input":{"messages":"hi"},"stream_mode":["values"]}`)
	if a.status != http.StatusOK || strings.Contains(a.body+stream.body, "iVBOR") ||
		!strings.Contains(stream.body, `"a.png":{"mime_type"`) {
		t.Errorf("written: %d %s\nstreamed: %s", a.status, a.body, stream.body)
	}
	for path, want := range map[string]bool{"/threads/t1": false, "/threads/t1/state": false,
		"/threads/t1/history": false, "/threads/t1/state?include=images": true} {
		if a := w.send(t, "GET", path, ""); strings.Contains(a.body, `"base64":"iVBORw0KGgo="`) != want ||
			!strings.Contains(a.body, "a.png") {
			t.Errorf("%s: %s", path, a.body)
		}
	}
}

// TestAStateIsNotWrittenWhileARunIsPending: also one that starts later.
func TestAStateIsNotWrittenWhileARunIsPending(t *testing.T) {
	w := open(t, sayAgent("one"))
	run := w.ok(t, "POST", "/threads/t1/runs",
		`{"assistant_id":"lead_agent","input":{"messages":"hi"},"after_seconds":3600}`)
	w.send(t, "POST", "/threads/t1/state", `{"values":{"title":"T"}}`).want(t, "while it is pending", http.StatusConflict)
	w.send(t, "POST", fmt.Sprintf("/threads/t1/runs/%s/cancel?wait=1", run["run_id"]), "").must(t, "cancel", http.StatusNoContent)
	w.ok(t, "POST", "/threads/t1/state", `{"values":{"title":"T"}}`)
}
