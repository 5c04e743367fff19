package agent_test

import (
	"encoding/json"
	"slices"
	"testing"

	"fawn/agent"
)

// question is the tool message of a clarification; artifact is JSON text.
func question(id, call, artifact string) *agent.Message {
	m := agent.Result{Content: agent.Text("?"), Artifact: json.RawMessage(artifact)}.
		Message(id, agent.ToolCall{ID: call, Name: "ask_clarification"})
	return m
}

func interrupted(id string) *agent.Message {
	m := ai(id, "half an ans")
	m.Meta = map[string]any{"finish_reason": agent.FinishInterrupted}
	return m
}

func invalid(id, call string) *agent.Message {
	m := &agent.Message{ID: id, Type: agent.TypeAI}
	m.AddCall(call, "echo", "{")
	return m
}

func TestNext(t *testing.T) {
	const asked = `{"human_input":{"question":"?"}}`
	model, tools, wait, none := []string{agent.NodeModel}, []string{agent.NodeTools}, []string{agent.NodeInterrupt},
		[]string{}
	cases := []struct {
		name string
		msgs []*agent.Message
		want []string
	}{
		{"an empty thread", nil, none},
		{"a person wrote last", []*agent.Message{human("1", "hi")}, model},
		{"a system message is last", []*agent.Message{ai("1", "x"), {ID: "2", Type: agent.TypeSystem}}, model},
		{"a complete answer", []*agent.Message{human("1", "hi"), ai("2", "hello")}, none},
		{"an answer cut off", []*agent.Message{human("1", "hi"), interrupted("2")}, model},
		{"open calls", []*agent.Message{human("1", "hi"), ai("2", "", "a", "b")}, tools},
		{"one call still open", []*agent.Message{human("1", "hi"), ai("2", "", "a", "b"), result("3", "b", "")}, tools},
		{"an invalid call is open", []*agent.Message{human("1", "hi"), invalid("2", "a")}, tools},
		{"an invalid call is answered", []*agent.Message{human("1", "hi"), invalid("2", "a"), result("3", "a", "")}, model},
		{"all calls answered", []*agent.Message{human("1", "hi"), ai("2", "", "a", "b"), result("3", "b", ""), result("4", "a", "")}, model},
		{"a person wrote behind open calls", []*agent.Message{human("1", "hi"), ai("2", "", "a"), human("3", "stop")}, model},
		{"a question waits", []*agent.Message{human("1", "hi"), ai("2", "", "a"), question("3", "a", asked)}, wait},
		{"a question between other results waits", []*agent.Message{human("1", "hi"), ai("2", "", "a", "b"), question("3", "a", asked), result("4", "b", "")}, wait},
		{"a question waits for its neighbours first", []*agent.Message{human("1", "hi"), ai("2", "", "a", "b"), question("3", "a", asked)}, tools},
		{"a question that asked nothing", []*agent.Message{human("1", "hi"), ai("2", "", "a"), question("3", "a", `{"human_input":null}`)}, model},
		{"a question with a broken artifact", []*agent.Message{human("1", "hi"), ai("2", "", "a"), question("3", "a", `[`)}, model},
		{"a question that was answered", []*agent.Message{human("1", "hi"), ai("2", "", "a"), question("3", "a", asked), human("4", "this")}, model},
		{"results whose call was removed", []*agent.Message{human("1", "hi"), result("2", "a", "")}, model},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := agent.State{Messages: c.msgs}
			for _, node := range []string{agent.NodeInput, "user", "no such node", agent.NodeModel, agent.NodeTools,
				agent.NodeEnd, "agent"} {
				if got := agent.Next(&s, node); got == nil || !slices.Equal(got, c.want) {
					t.Errorf("as %s: %v, want %v", node, got, c.want)
				}
			}
		})
	}
}

func TestNextAsStartRunsTheModelAgain(t *testing.T) {
	s := agent.State{Messages: []*agent.Message{human("1", "hi"), ai("2", "hello")}}
	if got := agent.Next(&s, agent.NodeStart); !slices.Equal(got, []string{agent.NodeModel}) {
		t.Errorf("next = %v", got)
	}
	if got := agent.Next(&agent.State{}, agent.NodeStart); len(got) != 0 {
		t.Errorf("next of an empty thread = %v", got)
	}
}

func TestCanonicalNode(t *testing.T) {
	for in, want := range map[string]string{
		"agent": agent.NodeModel, "lead_agent": agent.NodeModel, "model": agent.NodeModel, "tools": agent.NodeTools,
		"__start__": agent.NodeStart, "__end__": agent.NodeEnd, "__input__": agent.NodeInput, "user": agent.NodeInput,
		"": agent.NodeInput, "titler": agent.NodeInput,
	} {
		if got := agent.CanonicalNode(in); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}

func FuzzNext(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9})
	f.Add([]byte{6, 3, 20, 33, 6, 40, 7, 60})
	nodes := []string{agent.NodeStart, agent.NodeInput, "user", "agent", agent.NodeModel, agent.NodeTools,
		agent.NodeEnd, ""}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := agent.State{Messages: generate(data)}
		var asInput []string
		for _, node := range nodes {
			next := agent.Next(&s, node)
			if next == nil || len(next) > 1 {
				t.Fatalf("as %s: %#v", node, next)
			}
			if len(next) == 1 &&
				!slices.Contains([]string{agent.NodeModel, agent.NodeTools, agent.NodeInterrupt}, next[0]) {
				t.Fatalf("as %s: %v is no node to run", node, next)
			}
			if again := agent.Next(&s, node); !slices.Equal(again, next) {
				t.Fatalf("as %s: %v, then %v", node, next, again)
			}
			switch node {
			case agent.NodeStart:
			case agent.NodeInput:
				asInput = next
			default:
				if !slices.Equal(next, asInput) {
					t.Fatalf("as %s: %v, as input %v", node, next, asInput)
				}
			}
		}
		if len(s.Messages) == 0 {
			return
		}
		last := s.Messages[len(s.Messages)-1]
		one := func(n string) bool { return len(asInput) == 1 && asInput[0] == n }
		switch {
		case last.Type == agent.TypeHuman && !one(agent.NodeModel):
			t.Fatalf("a person wrote last: %v", asInput)
		case last.Type == agent.TypeAI && len(last.Calls()) > 0 && !one(agent.NodeTools):
			t.Fatalf("calls are open: %v", asInput)
		case last.Type == agent.TypeAI && len(last.Calls()) == 0 && last.Meta == nil && len(asInput) != 0:
			t.Fatalf("the answer is complete: %v", asInput)
		case one(agent.NodeInterrupt) != (one(agent.NodeInterrupt) && agent.Question(&s) != nil):
			t.Fatal("waits without a question")
		}
	})
}
