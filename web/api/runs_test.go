package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/runs"
	"fawn/store"
	"fawn/web/webtest"
)

func TestRunsAreListedSelectedAndDeleted(t *testing.T) {
	w := open(t, hangAgent())
	first := runID(t, w.send(t, "POST", "/threads/t1/runs",
		`{"input":{"messages":"1"},"metadata":{"k":12345678901234567890},"config":{"configurable":{"api_key":"hush","model_name":"m","n":12345678901234567890}},"context":{"secrets":{"a":"hush"}}}`).header)
	// Its model call must have begun, or the second run would get the reply that hangs.
	stream := w.request(t, t.Context(), "GET", "/threads/t1/runs/"+first+"/stream?stream_mode=messages-tuple", "")
	until(t, bufio.NewReader(stream.Body), "messages")
	stream.Body.Close()
	second := runID(t, w.send(t, "POST", "/threads/t1/runs", `{"input":{"messages":"2"}}`).header)
	list := decode[[]map[string]any](t, w.send(t, "GET", "/threads/t1/runs?limit=10&offset=0", "").body)
	if len(list) != 2 || list[0]["run_id"] != second || list[0]["status"] != "pending" || list[1]["run_id"] != first {
		t.Fatalf("list = %v", list)
	}
	text := w.send(t, "GET", "/threads/t1/runs/"+first, "").body
	if strings.Contains(text, "hush") || !strings.Contains(text, `"model_name":"m"`) ||
		strings.Count(text, "12345678901234567890") != 3 {
		t.Errorf("run = %s", text)
	}
	for query, want := range map[string]string{
		"?limit=1":          `[{"run_id":"` + second + `"}]`,
		"?limit=1&offset=1": `[{"run_id":"` + first + `"}]`,
		"?status=pending":   `[{"run_id":"` + second + `"}]`,
		"?status=success":   `[]`,
		"?offset=2":         `[]`,
	} {
		for _, sel := range []string{`&select=run_id`, `&select=%5B%22run_id%22%5D`} {
			webtest.Same(t, query, w.send(t, "GET", "/threads/t1/runs"+query+sel, "").body, want)
		}
	}
	for path, want := range map[string]int{"/threads/t1/runs?limit=0": 422, "/threads/t1/runs?status=x": 422,
		"/threads/none/runs": 404, "/threads/t1/runs/nope": 404} {
		w.send(t, "GET", path, "").want(t, path, want)
	}
	w.ok(t, "POST", "/threads", `{"thread_id":"t2"}`)
	for _, p := range []string{"", "/stream", "/join"} {
		w.send(t, "GET", "/threads/t2/runs/"+first+p, "").want(t, "run of another thread"+p, 404)
	}
	w.send(t, "POST", "/threads/t2/runs/"+first+"/cancel", "").want(t, "cancel of another thread's run", 404)
	w.send(t, "DELETE", "/threads/t1/runs/"+second, "").want(t, "delete of a pending run", 409)
	w.send(t, "POST", "/threads/t1/runs/"+first+"/cancel?wait=true", "")
	if r, err := w.m.Wait(t.Context(), second); err != nil || r.Status != runs.Success {
		t.Fatalf("%+v %v", r, err)
	}
	a := w.send(t, "POST", "/threads/t1/runs/"+second+"/cancel", "")
	if a.status != 409 || a.body != `{"detail":"Run `+second+` is not cancellable (status: success)"}` {
		t.Errorf("cancel of a finished run: %d %s", a.status, a.body)
	}
	w.send(t, "DELETE", "/threads/t1/runs/"+first, "").want(t, "delete", 204)
	w.send(t, "GET", "/threads/t1/runs/"+first, "").want(t, "deleted run", 404)
	got := events(frames(t, w.send(t, "GET", "/threads/t1/runs/"+second+"/stream", "").body))
	webtest.Same(t, "the other run's stream", got, "metadata values values end")
}

func TestStatelessRuns(t *testing.T) {
	w := open(t, &agent.Agent{Model: &agenttest.Script{}})
	a := w.send(t, "POST", "/runs/wait", `{"input":{"messages":"hi"},"on_completion":"keep"}`)
	thread, _, ok := strings.Cut(strings.TrimPrefix(a.header.Get("Content-Location"), "/threads/"), "/runs/")
	if !ok || !strings.Contains(a.body, "done.") {
		t.Fatalf("%v %s", a.header, a.body)
	}
	if th := w.ok(t, "GET", "/threads/"+thread, ""); th["status"] != "idle" {
		t.Errorf("thread = %v", th)
	}
	w.send(t, "POST", "/runs/stream", `{"input":{"messages":"again"},"config":{"configurable":{"thread_id":"`+
		thread+`"}}}`)
	b := w.send(t, "POST", "/api/runs/wait", `{"input":{"messages":"and again"},"context":{"thread_id":"`+thread+`"}}`)
	webtest.Same(t, "questions on the thread: "+b.body, strings.Count(b.body, `"type":"human"`), 3)
	for _, p := range []string{"/stream", "/join"} {
		w.send(t, "GET", "/runs/"+runID(t, b.header)+p, "").want(t, p, 200)
	}
	w.send(t, "POST", "/runs", `{"input":{"messages":"hi"},"config":{"configurable":{"thread_id":"gone"}},"on_completion":"delete"}`).must(t, "the answer", 200)
	w.eventually(t, func() bool { _, err := w.db.Thread(t.Context(), "gone"); return err != nil })
}

func TestBatchAndCancelMany(t *testing.T) {
	w := open(t, hangAgent())
	a := w.send(t, "POST", "/runs/batch",
		`[{"assistant_id":"lead_agent","input":{"messages":"1"},"config":{"configurable":{"thread_id":"a"}},"streamMode":"values"},{"assistant_id":"lead_agent","input":{"messages":"2"},"config":{"configurable":{"thread_id":"a"}}}]`)
	list := decode[[]map[string]any](t, a.body)
	if a.status != 200 || len(list) != 2 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	for body, want := range map[string]int{`{}`: 422, `{"status":"x"}`: 422, `{"thread_id":"none","status":"all"}`: 204,
		`{"status":"pending"}`: 204} {
		w.send(t, "POST", "/runs/cancel", body).want(t, body, want)
	}
	if r, err := w.m.Wait(t.Context(), list[1]["run_id"].(string)); err != nil || r.Status != runs.Interrupted {
		t.Errorf("pending: %+v %v", r, err)
	}
	w.send(t, "POST", "/runs/cancel?action=interrupt", `{"thread_id":"a","run_ids":["`+list[0]["run_id"].(string)+`"]}`).want(t, "/runs/cancel?action=interrupt", 204)
	if r, err := w.m.Wait(t.Context(), list[0]["run_id"].(string)); err != nil || r.Status != runs.Interrupted {
		t.Errorf("running: %+v %v", r, err)
	}
	for _, body := range []string{`{}`, `[1]`, `[` + strings.Repeat(`{},`, 100) + `{}]`} {
		w.send(t, "POST", "/runs/batch", body).want(t, fmt.Sprintf("batch %.20s", body), 422)
	}
}

func TestJoinStreamsToClientsThatWantEvents(t *testing.T) {
	w := open(t, sayAgent("hi"))
	id := runID(t, w.send(t, "POST", "/threads/t1/runs", `{"input":{"messages":"x"}}`).header)
	path := "/threads/t1/runs/" + id + "/join"
	got := events(frames(t, w.send(t, "GET", path, "", "Accept", "text/event-stream").body))
	webtest.Same(t, "events", got, "metadata values values end")
	a := w.send(t, "GET", path, "")
	if a.header.Get("Content-Type") != "application/json" || !strings.Contains(a.body, `"hi"`) {
		t.Errorf("JSON: %v %s", a.header, a.body)
	}
	w.send(t, "POST", "/threads/t1/runs/"+id+"/stream?action=interrupt", "").want(t, "cancel and stream a finished run", 409)
}

func TestCancelThenStream(t *testing.T) {
	w := open(t, hangAgent())
	id := runID(t, w.send(t, "POST", "/threads/t1/runs", `{"input":{"messages":"x"},"stream_mode":"updates"}`).header)
	a := w.send(t, "POST", "/threads/t1/runs/"+id+"/stream?action=interrupt&wait=1", "")
	if fs := frames(t, a.body); fs[len(fs)-1].event != "end" {
		t.Error(events(fs))
	}
	if r, err := w.db.Run(t.Context(), id); err != nil || r.Status != runs.Interrupted {
		t.Errorf("%+v %v", r, err)
	}
}

func TestRolledBackStateIsSkippedNotFatal(t *testing.T) {
	w := open(t, sayAgent("hi"))
	id := runID(t, w.send(t, "POST", "/threads/t1/runs/wait", `{"input":{"messages":"x"}}`).header)
	cps := w.ids(t, "t1", "")
	err := w.db.Commit(t.Context(), store.Batch{ThreadID: "t1", Delete: &store.Delete{Checkpoints: cps[1:2]}})
	must.Do(t, err)
	got := events(frames(t, w.send(t, "GET", "/threads/t1/runs/"+id+"/stream", "").body))
	webtest.Same(t, "got", got, "metadata values end")
}

// helperAgent has a tool that reports progress and speaks in a namespace of its own.
func helperAgent() *agent.Agent {
	task := &agent.Tool{Name: "task", Description: "helps", Schema: json.RawMessage(`{"type":"object"}`),
		Run: func(_ context.Context, turn *agent.Turn, c agent.ToolCall) (agent.Result, error) {
			turn.Sink.Emit(agent.Event{Kind: agent.EventCustom, Data: json.RawMessage("{\n\"type\":\"task_started\"}")})
			turn.Sink.Emit(agent.Event{Kind: agent.EventCustom, NS: "tools:" + c.ID,
				Data: json.RawMessage(`{"type":"inner"}`)})
			turn.Sink.Emit(agent.Event{Kind: agent.EventChunk, NS: "tools:" + c.ID, Message: "inner-1",
				Chunk: agent.Chunk{Text: "psst"}})
			return agent.TextResult("helped"), nil
		}}
	return &agent.Agent{Tools: []*agent.Tool{task},
		Model: &agenttest.Script{Replies: []agenttest.Reply{agenttest.Call("c1", "task", `{}`)}}}
}

func TestHelpersStayOutOfTheRootStream(t *testing.T) {
	for subgraphs, want := range map[bool]string{
		false: "metadata messages messages custom messages messages messages end",
		true:  "metadata messages messages custom custom|tools:c1 messages|tools:c1 messages messages messages end",
	} {
		w := open(t, helperAgent())
		a := w.send(t, "POST", "/threads/t1/runs/stream",
			fmt.Sprintf(`{"input":{"messages":"x"},"stream_mode":["custom","messages-tuple"],"stream_subgraphs":%v}`, subgraphs))
		fs := frames(t, a.body)
		webtest.Same(t, fmt.Sprintf("subgraphs %v:\ngot", subgraphs), events(fs), want)
		for _, f := range fs {
			if strings.HasPrefix(f.event, "messages") && !strings.Contains(f.event, "|") &&
				strings.Contains(f.data, "AIMessageChunk") && strings.Contains(f.data, "tools:") {
				t.Errorf("a root answer looks like a helper's: %s", f.data)
			}
		}
		join := w.send(t, "GET", "/threads/t1/runs/"+runID(t, a.header)+"/stream", "")
		if events(frames(t, join.body)) != want {
			t.Errorf("join forgets stream_subgraphs %v", subgraphs)
		}
	}
}
