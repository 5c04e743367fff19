package offline_test

import (
	"encoding/json"
	"strings"
	"testing"

	"fawn/agent"
)

// TestAnAgentIsMadeOfWhatThePersonSays: asked for when there is nothing yet, then saved as it is.
func TestAnAgentIsMadeOfWhatThePersonSays(t *testing.T) {
	human := func(id, text string) *agent.Message {
		return &agent.Message{ID: id, Type: agent.TypeHuman, Content: agent.Text(text)}
	}
	tools := []string{"setup_agent", "ask_clarification"}
	begin := human("h1", "Help me create an agent called “poet”.")
	question := asked(t, tools, begin)
	if len(question.ToolCalls) > 0 || !strings.Contains(question.Content.Text, "What should the agent do") {
		t.Fatalf("%+v", question)
	}
	const wish = "You write about the sea.\nTwo lines, and they rhyme."
	for name, msgs := range map[string][]*agent.Message{
		"asked":   {begin, question, human("h2", wish)},
		"at once": {human("h1", begin.Content.Text+"\n\n"+wish)},
	} {
		call := asked(t, tools, msgs...)
		var args struct{ Soul, Description string }
		if len(call.ToolCalls) != 1 || call.ToolCalls[0].Name != "setup_agent" ||
			json.Unmarshal(call.ToolCalls[0].Args, &args) != nil || args.Soul != wish ||
			args.Description != "You write about the sea." {
			t.Fatalf("%s: calls %+v", name, call.ToolCalls)
		}
		for result, want := range map[string]string{"Saved.": "The agent is saved", "Error: it exists": "it exists"} {
			msg := &agent.Message{ID: "r", Type: agent.TypeTool, ToolCallID: call.ToolCalls[0].ID, Name: "setup_agent",
				Content: agent.Text(result)}
			said := asked(t, tools, append(msgs, call, msg)...)
			if len(said.ToolCalls) > 0 || !strings.Contains(said.Content.Text, want) {
				t.Errorf("%s, %s: %+v", name, result, said)
			}
		}
	}
}
