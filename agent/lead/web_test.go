package lead_test

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/agent/profile"
)

// TestEntriesChooseWebServices: by the class paths of DeerFlow or a bare name, with what else an entry
// says; an entry without its key leaves the choice to what works.
func TestEntriesChooseWebServices(t *testing.T) {
	t.Parallel()
	at := filepath.Join(t.TempDir(), "config.yaml")
	must.Do(t, os.WriteFile(at, []byte(`
tools:
  - {name: web_search, group: web, use: "deerflow.community.ddg_search.tools:web_search_tool", max_results: 7, region: de-de, safesearch: strict}
  - {name: web_fetch, use: jina, api_key: k, base_url: "http://127.0.0.1:1", timeout: 1.5, allow_private_addresses: true}
  - {name: image_search, use: "deerflow.community.serper.tools:image_search_tool", api_key: $NOT_SET_ANYWHERE}
web: {searxng_url: "http://127.0.0.1:2", allow_private: [10.1.0.0/16, 10.2.0.1, nonsense], ports: [3000], fallback: false}
`), 0o600))
	c := must.Get(config.Open(config.Options{DataDir: t.TempDir(), Config: at, Classes: lead.Classes()},
		slog.New(slog.DiscardHandler)))(t)
	s := lead.WebSettings(c.Current())
	got := fmt.Sprintf("%+v", s.Search)
	if got != "{Provider:duckduckgo Key: Base: Most:7 Time:0s Region:de-de SafeSearch:strict Public:false}" {
		t.Error(got)
	}
	f := s.Fetch
	if f.Provider != "jina" || f.Key != "k" || f.Base != "http://127.0.0.1:1" || f.Time != 1500*time.Millisecond {
		t.Errorf("%+v", f)
	}
	if s.Images.Provider != "" || s.Fallback || s.SearXNG != "http://127.0.0.1:2" || fmt.Sprint(s.Ports) != "[3000]" {
		t.Errorf("%+v", s)
	}
	if got := fmt.Sprint(s.Private); !strings.HasPrefix(got, "[10.1.0.0/16 10.2.0.1/32 127.0.0.0/8 10.0.0.0/8") ||
		strings.Contains(got, "169.254") {
		t.Error(got)
	}
}

// TestWebToolsCanBeTakenAwayAndGrouped: by web.enabled, and by the group that an entry names.
func TestWebToolsCanBeTakenAwayAndGrouped(t *testing.T) {
	t.Parallel()
	for _, enabled := range []bool{true, false} {
		for group, there := range map[string]bool{"research": true, "web": false} {
			own := tool("web_search", func(agent.ToolCall) agent.Result { return agent.TextResult("fine") })
			own.Group = "web"
			w := newWorld(t, []agenttest.Reply{agenttest.Say("hi")},
				library(t, profile.Agent{Name: "reader", ToolGroups: []string{group}}),
				func(f *config.File, o *lead.Options) {
					f.Web.Enabled = enabled
					f.Tools = []config.Tool{{Name: "web_search", Group: "research"}}
					o.Tools = []*agent.Tool{own}
				})
			w.say(t, "go", `{"agent_name":"reader"}`)
			if got := offers(w.request(t, 0), "web_search"); got != (there && enabled) || own.Group != "web" {
				t.Errorf("enabled %v, group %s: %v", enabled, group, got)
			}
		}
	}
}

// TestSwitchedOffToolsAreOfferedToNobody: neither to a run nor to what it plans or sends.
func TestSwitchedOffToolsAreOfferedToNobody(t *testing.T) {
	t.Parallel()
	for _, off := range []bool{true, false} {
		w := newWorld(t, []agenttest.Reply{agenttest.Say("hi")}, func(f *config.File, _ *lead.Options) {
			if off {
				f.DisabledTools = []string{"grep", "ask_clarification", "write_todos"}
			}
		})
		w.say(t, "go", `{"is_plan_mode":true}`)
		for _, name := range []string{"grep", "ask_clarification", "write_todos"} {
			if got := offers(w.request(t, 0), name); got == off {
				t.Errorf("off %v: %s is offered: %v", off, name, got)
			}
		}
		if !offers(w.request(t, 0), "ls") {
			t.Error("another tool is gone")
		}
	}
}
