package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/web/webtest"
)

// TestGoldenModes records a turn with a tool call in each stream mode that shows what the
// graph does.
func TestGoldenModes(t *testing.T) {
	for _, mode := range []string{"tasks", "checkpoints", "debug", "tools", "events", "messages"} {
		t.Run(mode, func(t *testing.T) {
			g := newGolden(t, open(t, toolAgent()))
			g.send("POST", "/threads/t1/runs/stream",
				`{"input":{"messages":[{"type":"human","content":"weather please","id":"h1"}]},"stream_mode":"`+mode+`"}`)
			g.compare("mode_" + mode)
		})
	}
}

// noisyAgent calls two tools, one of which tells what it does and one of which fails.
func noisyAgent() *agent.Agent {
	talk := &agent.Tool{Name: "talk", Run: func(_ context.Context, t *agent.Turn,
		c agent.ToolCall) (agent.Result, error) {
		t.Sink.Emit(agent.Event{Kind: agent.EventToolOutput, NS: t.NS, Call: c, Data: json.RawMessage(`"half way"`)})
		t.Sink.Emit(agent.Event{Kind: agent.EventCustom, NS: t.NS,
			Data: json.RawMessage(`{"type":"task_running","task_id":"x"}`)})
		return agent.TextResult("said it"), nil
	}}
	fails := &agent.Tool{Name: "fails", Run: func(context.Context, *agent.Turn, agent.ToolCall) (agent.Result, error) {
		return agent.ErrorResult("no luck"), nil
	}}
	return &agent.Agent{Tools: []*agent.Tool{talk, fails}, Model: &agenttest.Script{Replies: []agenttest.Reply{
		agenttest.Call("c1", "talk", `{"a":1}`), agenttest.Call("c2", "fails", `{}`),
		agenttest.Say("That ", "is ", "all.")}}}
}

// TestToolsModeTellsOutputAndFailures shows the frames of calls that say something on their
// way and of calls that fail.
func TestToolsModeTellsOutputAndFailures(t *testing.T) {
	w := open(t, noisyAgent())
	a := w.send(t, "POST", "/threads/t1/runs/stream", `{"input":{"messages":["go"]},"stream_mode":["tools","tasks"]}`)
	var got []string
	for _, f := range frames(t, a.body) {
		if f.event != "tools" {
			continue
		}
		v := decode[map[string]any](t, f.data)
		if m, ok := v["output"].(map[string]any); ok {
			v["output"] = m["content"]
		}
		line := fmt.Sprint(v["event"], " ", v["toolCallId"], " ", v["name"])
		for _, k := range []string{"input", "data", "output", "error"} {
			if v[k] != nil {
				line += fmt.Sprint(" ", v[k])
			}
		}
		got = append(got, line)
	}
	want := []string{`on_tool_start c1 talk {"a":1}`, `on_tool_event c1 talk half way`, `on_tool_end c1 talk said it`,
		`on_tool_start c2 fails {}`, `on_tool_error c2 fails no luck`}
	webtest.Same(t, "tools", strings.Join(got, "\n"), strings.Join(want, "\n"))
}

func TestTasksModeTellsTheTaskAnErrorEnded(t *testing.T) {
	w := open(t, failAgent())
	a := w.send(t, "POST", "/threads/t1/runs/stream", `{"input":{"messages":["go"]},"stream_mode":["tasks"]}`)
	fs := frames(t, a.body)
	if got := events(fs); got != "metadata tasks tasks tasks error end" {
		t.Fatalf("frames: %s", got)
	}
	start, failed := decode[map[string]any](t, fs[1].data), decode[map[string]any](t, fs[3].data)
	if start["name"] != "model" || failed["name"] != "model" || failed["error"] != "kaboom" {
		t.Errorf("start %v\nfailed %v", start, failed)
	}
}

// TestCallbacksCarryTheirInputs checks what clients of callback events build calls from, for a call that works and one
// that fails, and that the callback of a piece comes before its messages frame.
func TestCallbacksCarryTheirInputs(t *testing.T) {
	w := open(t, noisyAgent())
	a := w.send(t, "POST", "/threads/t1/runs/stream", `{"input":{"messages":["go"]},"stream_mode":["messages-tuple","events"]}`)
	got, heard := map[string]string{}, ""
	for _, f := range frames(t, a.body) {
		if f.event == "messages" {
			pair := decode[[]map[string]any](t, f.data)
			if text := fmt.Sprint(pair[0]["content"]); pair[0]["type"] == "AIMessageChunk" && text != "" && text != heard {
				t.Errorf("the messages frame of %q comes behind the callback of %q", text, heard)
			}
			continue
		}
		if f.event != "events" {
			continue
		}
		e := decode[struct {
			Event, Name string
			Data        struct {
				Input json.RawMessage
				Call  string `json:"tool_call_id"`
				Chunk json.RawMessage
			}
		}](t, f.data)
		if e.Event == "on_chat_model_stream" {
			if text := decode[struct{ Content string }](t, string(e.Data.Chunk)).Content; text != "" {
				heard = text
			}
		}
		got[e.Event+" "+e.Name] = string(e.Data.Input) + e.Data.Call
	}
	for at, want := range map[string]string{
		"on_tool_start talk": `{"a":1}`, "on_tool_end talk": `{"a":1}`, "on_tool_start fails": `{}`, "on_tool_error fails": `{}c2`,
	} {
		webtest.Same(t, at, got[at], want)
	}
	for at, want := range map[string]string{
		"on_chat_model_start ChatModel": `"said it"`, "on_chat_model_end ChatModel": `"said it"`, "on_chain_end model": `"no luck"`,
		"on_chain_end tools": `"go"`, "on_chain_end LangGraph": `{"messages":["go"]}`,
	} {
		webtest.Holds(t, fmt.Sprintf("%s: the input lacks %s", at, want), got[at], want)
	}
	var ids []string
	for _, f := range frames(t, a.body) {
		ids = append(ids, f.id)
	}
	for _, at := range []int{3, len(ids) / 2, len(ids) - 3} { // whoever comes back gets exactly what follows
		rest := frames(t, w.send(t, "GET", a.header.Get("Content-Location")+"/stream?stream_mode=messages-tuple&stream_mode=events", "", "Last-Event-ID", ids[at]).body)
		var again []string
		for _, f := range rest {
			again = append(again, f.id)
		}
		if fmt.Sprint(again) != fmt.Sprint(ids[at+1:]) {
			t.Errorf("behind %s: %v, want %v", ids[at], again, ids[at+1:])
		}
	}
}
