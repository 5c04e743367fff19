package lead_test

import (
	"strings"
	"sync"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/config"
	"fawn/agent/lead"
)

// guests are tools that come and go.
type guests struct {
	mu      sync.Mutex
	list    []*agent.Tool
	version uint64
	asked   int
}

func (g *guests) set(list ...*agent.Tool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.list = list
	g.version++
}

func (g *guests) now() ([]*agent.Tool, uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asked++
	return g.list, g.version
}

// TestToolsComeAndGoWhileARunWorks: a tool that comes is offered from the next model call on,
// one that has gone is not, and the calls of an answer still run with what it was offered.
func TestToolsComeAndGoWhileARunWorks(t *testing.T) {
	var g guests
	called := map[string]int{}
	answer := func(name string) func(agent.ToolCall) agent.Result {
		return func(agent.ToolCall) agent.Result { called[name]++; return agent.TextResult(name + " answers") }
	}
	second := tool("second", answer("second"))
	first := tool("first", func(c agent.ToolCall) agent.Result {
		g.set(second) // it goes with its own first call
		return answer("first")(c)
	})
	g.set(first)
	w := newWorld(t, []agenttest.Reply{
		agenttest.Call("c1", "first", `{}`), agenttest.Call("c2", "first", `{}`), agenttest.Call("c3", "second", `{}`),
	}, func(_ *config.File, o *lead.Options) { o.More = g.now })
	w.say(t, "go", "")
	for i, want := range [][2]bool{{true, false}, {false, true}, {false, true}, {false, true}} {
		req := w.request(t, i)
		if offers(req, "first") != want[0] || offers(req, "second") != want[1] || !offers(req, "read_file") {
			t.Errorf("call %d: %d tools", i, len(req.Tools))
		}
	}
	s := w.state(t)
	if called["first"] != 1 || called["second"] != 1 || !strings.Contains(texts(s), `there is no tool named "first"`) {
		t.Errorf("%v\n%s", called, texts(s))
	}
}

// TestFoundToolsThatCome: where schemas must be found, so must that of a tool which came
// meanwhile, and the prompt names it.
func TestFoundToolsThatCome(t *testing.T) {
	var g guests
	late := tool("gh_issue", func(agent.ToolCall) agent.Result { return agent.TextResult("an issue") })
	late.Deferred = true
	come := tool("come", func(agent.ToolCall) agent.Result { g.set(late); return agent.TextResult("it came") })
	w := newWorld(t, []agenttest.Reply{
		agenttest.Call("c1", "come", `{}`), agenttest.Call("c2", "tool_search", `{"query":"select:gh_issue"}`),
		agenttest.Call("c3", "gh_issue", `{}`),
	}, func(f *config.File, o *lead.Options) {
		f.ToolSearch.Enabled = true
		o.More, o.Tools = g.now, []*agent.Tool{come}
	})
	w.say(t, "go", "")
	for i, want := range []struct{ search, found bool }{{false, false}, {true, false}, {true, true}, {true, true}} {
		req := w.request(t, i)
		named := strings.Contains(req.System, "gh_issue")
		if offers(req, "tool_search") != want.search || named != want.search || offers(req, "gh_issue") != want.found {
			t.Errorf("call %d: %d tools, named %v", i, len(req.Tools), named)
		}
	}
	if s := w.state(t); !strings.Contains(texts(s), "an issue") {
		t.Error(texts(s))
	}
}

// TestATakenNameStaysTaken: a tool that comes never takes the place of one that is there.
func TestATakenNameStaysTaken(t *testing.T) {
	var g guests
	for _, name := range []string{"read_file", "tool_search", "write_todos", "own"} {
		other := tool(name, func(agent.ToolCall) agent.Result { return agent.TextResult("mine") })
		g.list = append(g.list, other)
	}
	a, _ := build(t, config.Default(), lead.Options{More: g.now})
	seen := map[string]int{}
	for _, tool := range a.Toolset().Tools {
		seen[tool.Name]++
		if tool.Description == tool.Name && tool.Name != "own" {
			t.Errorf("%s is another one's", tool.Name)
		}
	}
	if seen["read_file"] != 1 || seen["own"] != 1 || seen["tool_search"]+seen["write_todos"] != 0 {
		t.Error(seen)
	}
}
