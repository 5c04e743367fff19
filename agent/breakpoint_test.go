package agent_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
)

// TestBreakpointsStopAtNodes runs one turn with a tool call again and again from where the
// breakpoint left it, and lists the nodes of each run.
func TestBreakpointsStopAtNodes(t *testing.T) {
	for _, c := range []struct {
		name          string
		before, after []string
		want          string
	}{
		{"none", nil, nil, "model tools model"},
		{"before the tools", []string{"tools"}, nil, "model | tools model"},
		{"after the tools", nil, []string{"tools"}, "model tools | model"},
		{"before the model, by its alias", []string{"agent"}, nil, " | model tools | model"},
		{"after the model", nil, []string{"lead_agent"}, "model | tools model"},
		{"before all", []string{"*"}, nil, " | model | tools | model"},
		{"after all", nil, []string{"*"}, "model | tools | model"},
		{"both sides of the tools", []string{"tools"}, []string{"tools"}, "model | tools | model"},
		{"unknown names", []string{"nowhere"}, []string{"ghost"}, "model tools model"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := &agent.Agent{Tools: []*agent.Tool{agenttest.Echo("echo")},
				Model: &agenttest.Script{Replies: []agenttest.Reply{
					agenttest.Call("c1", "echo", `{"a":1}`), agenttest.Say("done")}}}
			ended := 0
			a.Chain = []agent.Middleware{{Name: "end",
				AfterAgent: func(context.Context, *agent.Turn) (agent.State, error) {
					ended++
					return agent.State{}, nil
				}}}
			turn := agenttest.Turn("hi", &agenttest.Sink{})
			turn.StopBefore, turn.StopAfter = c.before, c.after
			var runs []string
			for range 10 {
				sink := &agenttest.Sink{}
				turn.Sink = sink
				out := must.Get(a.Run(t.Context(), turn))(t)
				var nodes []string
				for _, s := range sink.Steps() {
					nodes = append(nodes, s.Node)
				}
				runs = append(runs, strings.Join(nodes, " "))
				if out.Breakpoint != (len(out.Next) > 0) || out.Breakpoint != (out.StopReason == agent.StopBreakpoint) {
					t.Fatalf("outcome %+v", out)
				}
				if steps := sink.Steps(); len(steps) > 0 {
					last := steps[len(steps)-1]
					if !last.Last ||
						slices.ContainsFunc(steps[:len(steps)-1], func(s agenttest.Step) bool { return s.Last }) {
						t.Errorf("the last step and no other says so: %+v", steps)
					}
				}
				if !out.Breakpoint {
					break
				}
				turn.From = out.Next
			}
			if got := strings.Join(runs, " | "); got != c.want {
				t.Errorf("runs: %s", got)
			}
			if ended != 1 {
				t.Errorf("the end hooks ran %d times", ended)
			}
		})
	}
}

// TestFreshRunStopsBeforeItsFirstNode: breakpoints before a node hold a run which starts
// there, but not one which goes on there.
func TestFreshRunStopsBeforeItsFirstNode(t *testing.T) {
	script := &agenttest.Script{Replies: []agenttest.Reply{agenttest.Say("hello")}}
	a := &agent.Agent{Model: script}
	turn := agenttest.Turn("hi", &agenttest.Sink{})
	turn.StopBefore = []string{"model"}
	out, err := a.Run(t.Context(), turn)
	if err != nil || !out.Breakpoint || !slices.Equal(out.Next, []string{agent.NodeModel}) ||
		len(script.Requests()) != 0 {
		t.Fatalf("%+v %v, %d calls", out, err, len(script.Requests()))
	}
	turn.From = out.Next
	if out, err = a.Run(t.Context(), turn); err != nil || out.Breakpoint || len(script.Requests()) != 1 {
		t.Fatalf("%+v %v, %d calls", out, err, len(script.Requests()))
	}
}
