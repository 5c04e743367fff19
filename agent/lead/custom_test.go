package lead_test

import (
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/agent/profile"
	"fawn/agent/runs"
)

// library is a setup with these custom agents of the one owner.
func library(t *testing.T, list ...profile.Agent) setup {
	t.Helper()
	l := must.Get(profile.Open(t.TempDir(), "default"))(t)
	t.Cleanup(func() { l.Close() })
	for _, a := range list {
		must.Do(t, l.Create("default", a))
	}
	return func(_ *config.File, o *lead.Options) { o.Agents = l }
}

// TestGroupsHoldForToolsThatComeLater: also for those of a group that come while a run works, and
// for those whose schemas must be found.
func TestGroupsHoldForToolsThatComeLater(t *testing.T) {
	var g guests
	grouped := func(name, group string) *agent.Tool {
		one := tool(name, func(agent.ToolCall) agent.Result { return agent.TextResult("fine") })
		one.Group, one.Deferred = group, true
		return one
	}
	fetch, plain := grouped("fetch", "web"), tool("plain", func(agent.ToolCall) agent.Result {
		g.set(grouped("fetch", "web"), grouped("mail", "mail"), grouped("look", "file:read"))
		return agent.TextResult("fine")
	})
	g.set(fetch, plain)
	for _, deferred := range []bool{false, true} {
		w := newWorld(t, []agenttest.Reply{agenttest.Call("c1", "plain", `{}`), agenttest.Say("done")},
			library(t, profile.Agent{Name: "reader", ToolGroups: []string{"file:read"}}),
			func(f *config.File, o *lead.Options) { o.More, f.ToolSearch.Enabled = g.now, deferred })
		g.set(fetch, plain)
		if run := w.say(t, "go", `{"agent_name":"reader"}`); run.Status != runs.Success {
			t.Fatal(run.Status, run.Error)
		}
		for i := range 2 {
			req := w.request(t, i)
			if offers(req, "fetch") || offers(req, "mail") || offers(req, "write_file") || !offers(req, "read_file") ||
				strings.Contains(lines(req), "- fetch") || strings.Contains(lines(req), "- mail") {
				t.Errorf("deferred %v, call %d: %d tools\n%s", deferred, i, len(req.Tools), lines(req))
			}
		}
	}
}

// TestASmallModelIsToldTheSoulInShort: the beginning of it, and of what is said about the user.
func TestASmallModelIsToldTheSoulInShort(t *testing.T) {
	w := newWorld(t, []agenttest.Reply{agenttest.Say("hi")},
		library(t, profile.Agent{Name: "long", Soul: "Begin. " + strings.Repeat("soul ", 2000)}),
		func(f *config.File, o *lead.Options) {
			f.Models[0].ContextWindow = 4096
			must.Do(t, o.Agents.SetUser("default", "Ada. "+strings.Repeat("user ", 2000)))
		})
	w.say(t, "hi", `{"agent_name":"long"}`)
	system := w.request(t, 0).System
	if n := strings.Count(system, "soul "); n < 250 || n > 310 || !strings.Contains(system, "Begin.") ||
		!strings.Contains(system, "Ada.") || strings.Count(system, "user ") > 320 {
		t.Errorf("%d words: %s", n, system)
	}
}

// TestWhatAnAgentPrefersComesAfterTheCaller: for its model, its reasoning and its effort.
func TestWhatAnAgentPrefersComesAfterTheCaller(t *testing.T) {
	on, off := true, false
	two := func(f *config.File, _ *lead.Options) {
		f.Models = append(f.Models, config.Model{Name: "n", Use: "openai", ContextWindow: 100_000,
			SupportsThinking: true, SupportsReasoningEffort: true})
	}
	for _, c := range []struct {
		agent    profile.Agent
		options  string
		model    string
		thinking bool
		effort   string
	}{
		{profile.Agent{Model: "n", Thinking: &off}, `{}`, "n", false, ""},
		{profile.Agent{Model: "n", Thinking: &on, Effort: "high"}, `{}`, "n", true, "high"},
		{profile.Agent{Model: "n", Thinking: &off, Effort: "high"}, `{"thinking_enabled":true}`, "n", true, ""},
		{profile.Agent{Model: "n", Effort: "high"}, `{"reasoning_effort":"low"}`, "n", true, "low"},
		{profile.Agent{Model: "n"}, `{"model_name":"m"}`, "m", false, ""},
		{profile.Agent{Model: "gone"}, `{}`, "m", false, ""},
	} {
		c.agent.Name = "mine"
		w := newWorld(t, nil, library(t, c.agent), two)
		o := agent.Options{AgentName: "mine", Thinking: true}
		if strings.Contains(c.options, "model_name") {
			o.ModelName = "m"
		}
		if strings.Contains(c.options, "thinking_enabled") {
			o.ThinkingAsked, o.ThinkingGiven = true, true
		}
		if strings.Contains(c.options, "low") {
			o.ReasoningEffort = "low"
		}
		a, err := w.b.Build(t.Context(), runs.Spec{Owner: "default", ThreadID: "t1", Options: &o})
		if err != nil || o.ModelName != c.model || a.Options.Thinking != c.thinking || a.Options.Effort != c.effort {
			t.Errorf("%+v with %s: %s %+v %v", c.agent, c.options, o.ModelName, a.Options, err)
		}
	}
}
