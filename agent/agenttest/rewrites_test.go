package agenttest_test

import (
	"fmt"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
)

// failures is a test that only notes what was wrong.
type failures struct {
	testing.TB
	said []string
}

func (f *failures) Helper() {}

func (f *failures) Errorf(format string, args ...any) {
	f.said = append(f.said, fmt.Sprintf(format, args...))
}

func human(id string) *agent.Message { return &agent.Message{ID: id, Type: agent.TypeHuman} }

// steps applies patches to a thread which holds h1 and h2.
func steps(t *testing.T, nodes string, patches ...[]*agent.Message) []agenttest.Step {
	t.Helper()
	s := agent.State{Messages: []*agent.Message{human("h1"), human("h2")}}
	var out []agenttest.Step
	for i, node := range strings.Fields(nodes) {
		p := agent.State{Messages: patches[i]}
		must.Do(t, s.Apply(p))
		out = append(out, agenttest.Step{Node: node, Patch: p, State: s.Clone()})
	}
	return out
}

func TestNoRewrites(t *testing.T) {
	remove := &agent.Message{ID: "a", Type: agent.TypeRemove}
	cases := []struct {
		name  string
		steps []agenttest.Step
		want  string
	}{
		{"nothing", nil, ""},
		{"new messages only", steps(t, "model tools model", []*agent.Message{human("a")}, []*agent.Message{human("b"), human("c")}, nil), ""},
		{"one step writes its own message twice", steps(t, "model", []*agent.Message{human("a"), human("a")}), ""},
		{"a removal", steps(t, "model model", []*agent.Message{human("a")}, []*agent.Message{remove, human("b")}), ""},
		{"people edit", steps(t, "__input__ update", []*agent.Message{human("h1"), human("a")}, []*agent.Message{human("a")}), ""},
		{"a later step rewrites", steps(t, "model tools", []*agent.Message{human("a")}, []*agent.Message{human("b"), human("a")}), "step 1 (tools) writes message a again"},
		{"the first step rewrites", steps(t, "model", []*agent.Message{human("h1"), human("a")}), "step 0 (model) writes message h1 again"},
		{"removed and added again", steps(t, "model model", []*agent.Message{human("a")}, []*agent.Message{remove, human("a")}), "step 1 (model) writes message a again"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := &failures{TB: t}
			agenttest.NoRewrites(f, c.steps)
			if got := strings.Join(f.said, "; "); (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
				t.Errorf("said %q, want %q", got, c.want)
			}
		})
	}
}

func TestNoRewritesKnowsWhatWasStored(t *testing.T) {
	// Only the list of stored messages can tell that the newest one was rewritten.
	run := steps(t, "model", []*agent.Message{human("h2"), human("a")})
	f := &failures{TB: t}
	agenttest.NoRewrites(f, run)
	if len(f.said) != 0 {
		t.Errorf("guessed %q", f.said)
	}
	agenttest.NoRewrites(f, run, human("h1"), human("h2"))
	if len(f.said) != 1 {
		t.Errorf("said %q", f.said)
	}
}
