package web_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
)

// TestAHelperHasTheSkillsOfItsAgent as far as its kind lists them: those of neither alone are told to it.
func TestAHelperHasTheSkillsOfItsAgent(t *testing.T) {
	t.Parallel()
	a := startAgents(t)
	for _, name := range []string{"paint", "draw", "write"} {
		a.put(t, "skills/custom/"+name+"/SKILL.md",
			fmt.Sprintf("---\nname: %s\ndescription: How to %[1]s well\n---\nText.\n", name))
	}
	conf, err := os.ReadFile(a.conf)
	must.Do(t, err)
	a.configure(t, string(conf)+"subagents:\n  agents: {general-purpose: {skills: [paint, draw]}}\n  custom_agents:\n"+
		"    free: {description: d, system_prompt: p}\n    bare: {description: d, system_prompt: p, skills: []}\n")
	a.send(t, "POST", "/api/agents", `{"name":"artist","soul":"x","skills":["paint","write"]}`).must(t, "the answer", 201)
	for i, c := range []struct{ agent, kind, has string }{
		{"lead_agent", "general-purpose", "paint draw"},
		{"lead_agent", "free", "paint draw write"},
		{"lead_agent", "bare", ""},
		{"artist", "general-purpose", "paint"},
		{"artist", "free", "paint write"},
		{"artist", "bare", ""},
	} {
		got, _ := a.say(t, fmt.Sprint("t", i),
			`SCRIPT{"turns":[{"tool_calls":[{"name":"task","args":{"description":"x","prompt":"small job","subagent_type":"`+
				c.kind+`"}}]},{"text":"done"}]}`, `"context":{"subagent_enabled":true,"agent_name":"`+c.agent+`"}`)
		if len(got) != 3 { // the run asks, its helper, and the run again
			t.Fatalf("%+v: %d requests", c, len(got))
		}
		told := got[1].system(t)
		for _, name := range []string{"paint", "draw", "write"} {
			if strings.Contains(told, "How to "+name+" well") != strings.Contains(c.has, name) {
				t.Errorf("%+v: the helper is told\n%s", c, told)
			}
		}
	}
}
