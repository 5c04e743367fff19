package lead_test

import (
	"fmt"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/config"
	"fawn/agent/lead"
)

// TestManyToolsOfServersAreHidden: their schemas have a tenth of what the model reads. Beyond
// that they are found with tool_search, without anybody's having switched that on.
func TestManyToolsOfServersAreHidden(t *testing.T) {
	for _, words := range []int{10, 1000} {
		var g guests
		var list []*agent.Tool
		for i := range 20 {
			guest := tool(fmt.Sprintf("srv_%d", i), func(agent.ToolCall) agent.Result {
				return agent.TextResult("here")
			})
			guest.Deferred, guest.Server, guest.Description = true, "srv", strings.Repeat("word ", words)
			list = append(list, guest)
		}
		g.set(list...)
		w := newWorld(t, []agenttest.Reply{agenttest.Call("c1", "tool_search", `{"query":"select:srv_3"}`)},
			func(f *config.File, o *lead.Options) {
				o.More = g.now
				for i := range f.Models {
					f.Models[i].ContextWindow = 100_000
				}
			})
		w.say(t, "go", "")
		crowded := words == 1000
		req := w.request(t, 0)
		if offers(req, "srv_3") == crowded || offers(req, "tool_search") != crowded {
			t.Errorf("%d words: srv_3 is offered: %v, tool_search: %v", words, offers(req, "srv_3"),
				offers(req, "tool_search"))
		}
		if crowded && (!offers(w.request(t, 1), "srv_3") || offers(w.request(t, 1), "srv_4")) {
			t.Error("what was searched for is not what is offered")
		}
	}
}
