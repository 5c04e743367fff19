package web_test

import (
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"fawn/agent/mcp/mcptest"
	"fawn/web"
	"fawn/web/webtest"
)

// taskShape is a task of an MCP server as DeerFlow's front end reads it.
type taskShape struct {
	ID        string  `json:"task_id"`
	Name      string  `json:"task_name"`
	Status    string  `json:"status"`
	Message   string  `json:"status_message"`
	Error     *string `json:"error"`
	Degraded  bool    `json:"tracking_degraded"`
	Cancel    bool    `json:"cancel_requested"`
	Preview   *string `json:"result_preview"`
	Truncated bool    `json:"result_truncated"`
	Tries     int     `json:"cancel_attempt_count"`
}

// task waits until the newest task of a thread is as it should be.
func (s *server) task(t *testing.T, thread, what string, ok func(taskShape) bool) taskShape {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		got := s.send(t, "GET", "/api/threads/"+thread+"/mcp-tasks?limit=50", "")
		if list := decoded[[]taskShape](t, got); len(list) > 0 && ok(list[0]) {
			one := s.send(t, "GET", "/api/threads/"+thread+"/mcp-tasks/"+list[0].ID, "")
			if one.status != 200 {
				t.Fatalf("the task %s: %d %s", list[0].ID, one.status, one.body)
			}
			return decoded[taskShape](t, one)
		}
		if time.Now().After(end) {
			t.Fatalf("no task is %s: %s", what, got.body)
		}
	}
}

// TestTasksOfMCPServersAreFollowed: a call that a server makes a task of is a step with what the server says about it,
// and ends with its result; it can be cancelled by itself or with its run, and what becomes of it is told.
func TestTasksOfMCPServersAreFollowed(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	remote := &mcptest.Tasks{}
	at := httptest.NewServer(remote)
	defer at.Close()
	extensions(t, data, map[string]any{"mine": map[string]any{"type": "http", "url": at.URL}})
	s := start(t, scripted(t), func(o *web.Options) { o.Data = data })
	webtest.Same(t, "a tool that makes no tasks", s.offeredTool(t, "zero", "mine_look"), "a task was asked for: false")
	s.send(t, "GET", "/api/features", "").holds(t, "features", `"mcp_tasks":{"enabled":true}`)
	begin := func(thread string) (run string) {
		t.Helper()
		s.send(t, "POST", "/threads", `{"thread_id":"`+thread+`","if_exists":"do_nothing"}`)
		got := s.send(t, "POST", "/threads/"+thread+"/runs", `{"assistant_id":"lead_agent","input":{"messages":[{"role":"user","content":"SCRIPT{\"turns\":[{\"tool_calls\":[{\"name\":\"mine_dig\",\"args\":{}}]},{\"text\":\"Thank you.\"}]}"}]}}`)
		got.must(t, "start", 200)
		return decoded[struct {
			ID string `json:"run_id"`
		}](t, got).ID
	}

	run := begin("one")
	first := s.task(t, "one", "working", func(k taskShape) bool { return k.Status == "working" })
	if first.Name != "dig" || first.Cancel || first.Degraded || first.Preview != nil {
		t.Errorf("the task is told as %+v", first)
	}
	remote.Say(0, "found a bone")
	s.task(t, "one", "further on", func(k taskShape) bool { return k.Message == "found a bone" })
	remote.Finish(0, "three bones")
	s.shows(t, "/threads/one/state", "three bones", true)
	done := s.task(t, "one", "completed", func(k taskShape) bool { return k.Status == "completed" })
	if done.ID != first.ID || done.Preview == nil || *done.Preview != "three bones" || done.Truncated || done.Error != nil {
		t.Errorf("the finished task is told as %+v", done)
	}
	s.shows(t, "/threads/one", `"status":"idle"`, true)
	for _, want := range []string{"working: digging", "working: found a bone"} {
		s.send(t, "GET", "/threads/one/runs/"+run+"/stream?stream_mode=events", "").holds(t, fmt.Sprintf("the step doesn't say %q", want), want)
	}
	if got := s.send(t, "POST", "/api/threads/one/mcp-tasks/"+first.ID+"/cancel", ""); got.status != 200 ||
		decoded[taskShape](t, got).Cancel {
		t.Errorf("cancelling what is over: %d %s", got.status, got.body)
	}

	begin("two")
	second := s.task(t, "two", "working", func(k taskShape) bool { return k.Status == "working" })
	if got := s.send(t, "POST", "/api/threads/two/mcp-tasks/"+second.ID+"/cancel", ""); got.status != 200 ||
		!decoded[taskShape](t, got).Cancel {
		t.Errorf("cancel: %d %s", got.status, got.body)
	}
	s.shows(t, "/threads/two/state", "Thank you.", true)
	s.shows(t, "/threads/two/state", "The task was cancelled", true)
	if k := s.task(t, "two", "cancelled", func(k taskShape) bool { return k.Status == "cancelled" }); remote.Status(1) != "cancelled" ||
		!k.Cancel || k.Tries != 1 {
		t.Errorf("the server's task is %s, and ours %+v", remote.Status(1), k)
	}

	run = begin("three")
	s.task(t, "three", "working", func(k taskShape) bool { return k.Status == "working" })
	s.send(t, "POST", "/threads/three/runs/"+run+"/cancel?wait=true", "").fine(t, "cancel the run")
	s.task(t, "three", "cancelled with its run", func(k taskShape) bool { return k.Status == "cancelled" })
	webtest.Same(t, "the server's task", remote.Status(2), "cancelled")

	begin("four")
	s.task(t, "four", "working", func(k taskShape) bool { return k.Status == "working" })
	remote.Fail(3, "the spade broke")
	s.shows(t, "/threads/four/state", "Error: the task failed: the spade broke", true)
	if k := s.task(t, "four", "failed", func(k taskShape) bool { return k.Status == "failed" }); k.Error == nil || *k.Error != "the spade broke" {
		t.Errorf("the failed task is told as %+v", k)
	}

	begin("five")
	s.task(t, "five", "working", func(k taskShape) bool { return k.Status == "working" })
	remote.Forget(4)
	s.shows(t, "/threads/five/state", "knows nothing of it any more", true)
	s.send(t, "DELETE", "/threads/five", "").fine(t, "delete")
	s.send(t, "GET", "/api/threads/five/mcp-tasks", "").want(t, "tasks of a deleted thread", 404)
	for query, want := range map[string]int{"?limit=0": 422, "?limit=101": 422, "?limit=1": 200} {
		s.send(t, "GET", "/api/threads/one/mcp-tasks"+query, "").want(t, query, want)
	}
}

// TestTasksOfMCPServersCanBeOff: a server is called as one that answers at once.
func TestTasksOfMCPServersCanBeOff(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	remote := &mcptest.Tasks{}
	at := httptest.NewServer(remote)
	defer at.Close()
	extensions(t, data, map[string]any{"mine": map[string]any{"type": "http", "url": at.URL}})
	s := start(t, scripted(t)+"\nmcp_tasks: {enabled: false}\n", func(o *web.Options) { o.Data = data })
	webtest.Holds(t, "dig says", s.offeredTool(t, "zero", "mine_dig"), "dig must be called as a task")
	s.send(t, "GET", "/api/features", "").holds(t, "features", `"mcp_tasks":{"enabled":false}`)
}

// TestASilentServerHoldsUpNobodyElsesTasks: questions to it wait in places of its own, and a wish to cancel is heard
// meanwhile.
func TestASilentServerHoldsUpNobodyElsesTasks(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	silent, other := &mcptest.Tasks{}, &mcptest.Tasks{}
	servers := map[string]any{}
	for name, h := range map[string]*mcptest.Tasks{"silent": silent, "other": other} {
		at := httptest.NewServer(h)
		t.Cleanup(at.CloseClientConnections)
		servers[name] = map[string]any{"type": "http", "url": at.URL}
	}
	silent.Mute()
	extensions(t, data, servers)
	s := start(t, scripted(t)+"\nmcp_tasks: {max_concurrent_polls: 1}\n", func(o *web.Options) { o.Data = data })
	for _, name := range []string{"silent", "other"} {
		s.offeredTool(t, "zero", name+"_look")
	}
	begin := func(thread, tool string) {
		t.Helper()
		s.send(t, "POST", "/threads", `{"thread_id":"`+thread+`","if_exists":"do_nothing"}`)
		s.send(t, "POST", "/threads/"+thread+"/runs", human(`SCRIPT{"turns":[{"tool_calls":[{"name":"`+tool+`","args":{}}]},{"text":"Thank you."}]}`)).must(t, "start", 200)
	}
	for _, thread := range []string{"one", "two"} {
		begin(thread, "silent_dig")
	}
	webtest.Until(t, "the silent server is asked", func() bool { return silent.Sent("tasks/get") > 0 })
	begin("three", "other_dig")
	s.task(t, "three", "working", func(k taskShape) bool { return k.Status == "working" })
	other.Say(0, "found a bone")
	s.task(t, "three", "further on", func(k taskShape) bool { return k.Message == "found a bone" })
	for _, thread := range []string{"one", "two"} { // one is asked about, the other waits for a place
		k := s.task(t, thread, "working", func(k taskShape) bool { return k.Status == "working" })
		if k.Degraded {
			t.Error("the silent server was given up on before another one was asked")
		}
		s.send(t, "POST", "/api/threads/"+thread+"/mcp-tasks/"+k.ID+"/cancel", "").must(t, "cancel", 200)
	}
	for _, thread := range []string{"one", "two"} {
		s.shows(t, "/threads/"+thread+"/state", "The task was cancelled", true)
	}
	other.Finish(0, "three bones")
	s.shows(t, "/threads/three/state", "three bones", true)
}
