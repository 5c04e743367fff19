package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/runs"
	"fawn/web/webtest"
)

// TestChildRunsAreForReadersOfSubgraphs: messages and updates of a run inside another one come
// under its namespace to those who ask for them, live and later, and to nobody else.
func TestChildRunsAreForReadersOfSubgraphs(t *testing.T) {
	for subgraphs, want := range map[bool]string{
		false: "metadata messages messages updates messages updates messages messages updates end",
		true: "metadata messages messages updates messages|tools:c1 messages|tools:c1 messages|tools:c1 updates|tools:c1 " +
			"messages updates messages messages updates end",
	} {
		var w *world
		task := &agent.Tool{Name: "task", Schema: json.RawMessage(`{"type":"object"}`)}
		task.Run = func(ctx context.Context, turn *agent.Turn, c agent.ToolCall) (agent.Result, error) {
			prompt := &agent.Message{Type: agent.TypeHuman, Content: agent.Text("help")}
			_, s, err := w.m.Child(ctx, turn,
				runs.Task{Call: c.ID, Input: agent.State{Messages: []*agent.Message{prompt}}})
			if err != nil {
				return agent.Result{}, err
			}
			return agent.TextResult("it says " + s.Messages[len(s.Messages)-1].Content.Text), nil
		}
		script := &agenttest.Script{Replies: []agenttest.Reply{
			agenttest.Call("c1", "task", `{}`), agenttest.Say("ps", "st"), agenttest.Say("done"),
		}}
		w = open(t, &agent.Agent{Tools: []*agent.Tool{task}, Model: script})
		a := w.send(t, "POST", "/threads/t1/runs/stream",
			fmt.Sprintf(`{"input":{"messages":"x"},"stream_mode":["updates","messages-tuple"],"stream_subgraphs":%v}`, subgraphs))
		live := frames(t, a.body)
		if got := events(live); got != want {
			t.Errorf("subgraphs %v:\n%s\n%s", subgraphs, events(live), want)
		}
		ids := map[string]bool{}
		for _, f := range live {
			if f.id != "" && ids[f.id] {
				t.Errorf("two frames have the id %s", f.id)
			}
			ids[f.id] = true
			if strings.Contains(f.data, "psst") && !strings.Contains(f.event, "|") &&
				!strings.Contains(f.data, "it says psst") {
				t.Errorf("the root stream has %s", f.data)
			}
		}
		later := w.send(t, "GET", "/threads/t1/runs/"+runID(t, a.header)+"/stream", "")
		webtest.Same(t, "read later:\n\nlive", later.body, a.body)
	}
}
