package offline_test

import (
	"encoding/json"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/llm/offline"
)

// asked is one call of the model with the messages and tools given.
func asked(t *testing.T, tools []string, msgs ...*agent.Message) *agent.Message {
	t.Helper()
	req := &agent.Request{Messages: msgs}
	for _, name := range tools {
		req.Tools = append(req.Tools, &agent.Tool{Name: name})
	}
	m := must.Get(agent.Collect("m", offline.New(nil).Stream(t.Context(), req)))(t)
	return m
}

func TestACommandIsRunAsItIsWritten(t *testing.T) {
	for name, c := range map[string]struct{ text, command string }{
		"plain":            {"run: ls -la | wc -l", "ls -la | wc -l"},
		"capitals":         {"RUN:echo hi", "echo hi"},
		"wide colon":       {"run：date", "date"},
		"several lines":    {"Run: cat <<E\na\nE", "cat <<E\na\nE"},
		"in a fence":       {"run:\n```bash\necho one\necho two\n```", "echo one\necho two"},
		"only a word":      {"run", ""},
		"nothing to run":   {"run:", ""},
		"about running":    {"run the analysis: now", ""},
		"not at the start": {"please run: ls", ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := asked(t, []string{"bash"}, &agent.Message{ID: "h", Type: agent.TypeHuman, Content: agent.Text(c.text)})
			if c.command == "" {
				if len(m.ToolCalls) > 0 {
					t.Fatalf("calls %s", m.ToolCalls[0].Args)
				}
				return
			}
			var args struct{ Command, Description string }
			if len(m.ToolCalls) != 1 || m.ToolCalls[0].Name != "bash" ||
				json.Unmarshal(m.ToolCalls[0].Args, &args) != nil || args.Command != c.command ||
				args.Description == "" {
				t.Fatalf("calls %+v", m.ToolCalls)
			}
		})
	}
}

func TestWhatACommandSaidIsRepeatedOnce(t *testing.T) {
	human := &agent.Message{ID: "h", Type: agent.TypeHuman, Content: agent.Text("run: cat notes.md")}
	call := asked(t, []string{"bash"}, human)
	result := &agent.Message{ID: "r", Type: agent.TypeTool, ToolCallID: call.ToolCalls[0].ID, Name: "bash",
		Content: agent.Text("# title\n```\ncode\n```\n")}
	said := asked(t, []string{"bash"}, human, call, result)
	if len(said.ToolCalls) > 0 || !strings.Contains(said.Content.Text, "````\n# title\n```\ncode\n```\n````") {
		t.Errorf("%s", said.Content.Text)
	}
	result.Content = agent.Text(strings.Repeat("x", 100_000))
	if said = asked(t, []string{"bash"}, human, call, result); len(said.Content.Text) > 5000 {
		t.Errorf("%d characters", len(said.Content.Text))
	}
}

func TestWithoutASandboxItSaysSo(t *testing.T) {
	m := asked(t, []string{"ls"}, &agent.Message{ID: "h", Type: agent.TypeHuman, Content: agent.Text("run: ls")})
	if len(m.ToolCalls) > 0 || !strings.Contains(m.Content.Text, "fawn doctor") {
		t.Errorf("%+v", m)
	}
}
