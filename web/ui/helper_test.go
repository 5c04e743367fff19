package ui_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/web/webtest"
)

// sendsHelpers is a tool task that tells of itself what DeerFlow's helpers do, and ends as its
// prompt says: "wait" ends when w.helpers does, and tells what comes from there.
func (w *world) sendsHelpers() *agent.Tool {
	return &agent.Tool{Name: "task", Description: "Sends a helper", Schema: json.RawMessage(`{"type":"object"}`),
		Run: func(_ context.Context, t *agent.Turn, c agent.ToolCall) (agent.Result, error) {
			var a struct{ Prompt string }
			if err := json.Unmarshal(c.Args, &a); err != nil {
				return agent.Result{}, err
			}
			tell := func(kind string, more map[string]any) {
				event := map[string]any{"type": kind, "task_id": c.ID, "model_name": "larch-2"}
				for k, v := range more {
					event[k] = v
				}
				data, err := agent.Encode(event)
				if err != nil {
					panic(err)
				}
				t.Sink.Emit(agent.Event{Kind: agent.EventCustom, Data: data})
			}
			if a.Prompt == "wait" {
				for more := range w.helpers {
					tell("task_running", more)
				}
				return agent.TextResult("Task Succeeded. Result: done"), nil
			}
			tell("task_started", nil)
			reads := map[string]any{"type": "ai", "id": "h1", "content": "",
				"tool_calls": []any{map[string]any{"id": "x", "name": "read_file", "args": map[string]any{"path": "/mnt/user-data/workspace/prices.csv"}}}}
			tell("task_running", map[string]any{"message": reads, "message_index": 1, "total_messages": 1,
				"usage": map[string]any{"total_tokens": 1200}})
			tell("task_running",
				map[string]any{"message": map[string]any{"type": "tool", "id": "h2", "tool_call_id": "x",
					"content": "a,b"}, "usage": nil})
			tell("task_running",
				map[string]any{"message": map[string]any{"type": "ai", "id": "h3",
					"content": "Two prices\nare missing"}, "usage": map[string]any{"total_tokens": 2400}})
			kwargs := map[string]any{"subagent_model_name": "larch-2",
				"subagent_token_usage": map[string]any{"total_tokens": 3100}}
			switch a.Prompt {
			case "fail":
				kwargs["subagent_status"] = "failed"
				return agent.Result{Content: agent.Text("Task failed. Error: no network\nat all"), IsError: true,
					Kwargs: kwargs}, nil
			case "cancel":
				return agent.TextResult("Task cancelled by user."), nil
			case "late":
				return agent.ErrorResult("Task timed out. Error: after 900 s"), nil
			}
			kwargs["subagent_status"] = "completed"
			return agent.Result{
				Content: agent.Text(
					"Task Succeeded (capped: turn budget). Result: It is **cheaper**.\n\n- <b>by</b> €4,100"),
				Kwargs: kwargs,
			}, nil
		}}
}

func TestHelpersAreCardsLiveAsOnAFreshPage(t *testing.T) {
	call := func(i int, prompt string) agent.CallDelta {
		return agent.CallDelta{Index: i, ID: fmt.Sprintf("call_%d", i), Name: "task",
			Args: fmt.Sprintf(`{"description":"Job %d","prompt":%q,"subagent_type":"general-purpose"}`, i, prompt)}
	}
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			w := open(t, &typist{pause: time.Millisecond, Script: agenttest.Script{Replies: []agenttest.Reply{
				{Chunks: []agent.Chunk{{Calls: []agent.CallDelta{call(0, "compare"), call(1, "fail")}},
					{Calls: []agent.CallDelta{call(2, "cancel"), call(3, "late")}},
					{Finish: "tool_calls", Model: "m"}}},
				agenttest.Say("All ", "done."),
			}}})
			w.begin("t1", "Send helpers")
			r := w.reader("t1")
			if seed == 0 {
				r.read(0)
			}
			random := rand.New(rand.NewPCG(seed, 9))
			r.stroll(random, 3)
			w.settle("t1")
			r.equalsPage()
			s := r.dom.section("turns")
			for class, n := range map[string]int{`"step tool done sub"`: 1, `"step tool fail sub"`: 2,
				`"step tool stop sub"`: 1} {
				webtest.Same(t, fmt.Sprintf("%s is there times", class), strings.Count(s, class), n)
			}
			webtest.Holds(t, "the cards miss", s, "Job 0", "general-purpose · larch-2 · 3.1k tokens", "It is cheaper.", "no network", "after 900 s")
			webtest.Holds(t, "the cards show what stands around a result, or what is over", s, "!Task Succeeded", "!prices.csv")
			id := between(s, `id="s-`, `"`)
			w.get("/ui/threads/t1/steps/"+id, "HX-Request-Type", "partial").want(t, "details", http.StatusOK, "<strong>cheaper</strong>", "compare", "!<b>by</b>", "!Task Succeeded")
		})
	}
}

func TestAWorkingHelperSaysWhatItDoes(t *testing.T) {
	w := open(t, &typist{Script: agenttest.Script{Replies: []agenttest.Reply{
		{
			Chunks: []agent.Chunk{
				{
					Calls: []agent.CallDelta{
						{ID: "c", Name: "task", Args: `{"description":"Price model","prompt":"wait"}`},
					},
				}, {Finish: "tool_calls", Model: "m"},
			},
		},
		agenttest.Say("Done."),
	}}})
	w.helpers = make(chan map[string]any)
	said := sync.OnceFunc(func() { close(w.helpers) })
	defer said()
	w.begin("t1", "Send one")
	r := w.reader("t1")
	until := func(want string) {
		t.Helper()
		r.readUntil(want)
		r.equalsCursor()
	}
	w.helpers <- map[string]any{"type": "task_started", "model_name": "larch-2"}
	until("larch-2")
	w.helpers <- map[string]any{"type": "task_running",
		"message": map[string]any{"type": "ai", "id": "h1",
			"tool_calls": []any{map[string]any{"id": "x", "name": "bash", "args": map[string]any{"command": "python model.py"}}}}, "usage": map[string]any{"total_tokens": 12000}}
	until("Running python model.py")
	until("12.0k tokens")
	w.helpers <- map[string]any{"type": "task_running",
		"message": map[string]any{"type": "ai", "id": "h2", "content": "Two prices are missing"}}
	until("Two prices are missing")
	said()
	w.settle("t1")
}
