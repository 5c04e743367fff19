package agent_test

import (
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
)

func TestRunAnswersThroughTools(t *testing.T) {
	model := &agenttest.Script{Replies: []agenttest.Reply{
		agenttest.Call("c1", "echo", `{"a":1}`, "c2", "echo", `{"b":2}`),
		agenttest.Say("All ", "good."),
	}}
	sink := &agenttest.Sink{}
	a := &agent.Agent{Model: model, Tools: []*agent.Tool{agenttest.Echo("echo")}}
	out := must.Get(a.Run(t.Context(), agenttest.Turn("hi", sink)))(t)
	if len(out.Next) != 0 {
		t.Errorf("next = %v", out.Next)
	}
	var nodes []string
	for _, s := range sink.Steps() {
		nodes = append(nodes, s.Node+">"+strings.Join(s.Next, ","))
	}
	if got := strings.Join(nodes, " "); got != "model>tools tools>model model>" {
		t.Errorf("steps = %q", got)
	}
	steps := sink.Steps()
	final := steps[len(steps)-1].State.Messages
	if got := final[len(final)-1].Content.Text; got != "All good." {
		t.Errorf("answer = %q", got)
	}
	if final[2].ToolCallID != "c1" || final[3].ToolCallID != "c2" {
		t.Errorf("results out of call order: %s, %s", final[2].ToolCallID, final[3].ToolCallID)
	}
}
