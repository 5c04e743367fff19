package lead_test

import (
	"encoding/json"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/agent/middleware"
	"fawn/sandbox"
)

// TestTheShortPromptStaysShortWhateverToolsThereAre, and its tools work as the long ones do.
func TestTheShortPromptStaysShortWhateverToolsThereAre(t *testing.T) {
	replies := []agenttest.Reply{agenttest.Call("c1", "write_file", `{"path":"a.txt","content":"x"}`),
		agenttest.Say("Done.")}
	w := newWorld(t, replies, func(f *config.File, o *lead.Options) {
		f.Models[0].ContextWindow = 2048
		o.Sandbox = standIn{}
		for _, name := range []string{"web_search", "web_fetch", "task"} {
			x := tool(name, func(agent.ToolCall) agent.Result { return agent.Result{} })
			x.Description = strings.Repeat("words about a tool ", 40)
			o.Tools = append(o.Tools, x)
		}
	})
	if run := w.say(t, "go", `{"is_plan_mode":true}`); run.Error != "" {
		t.Fatal(run.Error)
	}
	r := w.request(t, 0)
	total, names := middleware.TextTokens(r.System), ""
	for _, x := range r.Tools {
		if !json.Valid(x.Schema) || strings.Contains(string(x.Schema), "in a few words") {
			t.Errorf("the schema of %s is %s", x.Name, x.Schema)
		}
		total += 12 + middleware.TextTokens(x.Name+x.Description+string(x.Schema))
		names += x.Name + " "
	}
	if total > 900 || !strings.HasPrefix(names, "bash read_file write_file str_replace present_files ls write_todos ") {
		t.Errorf("%d tokens, tools %s", total, names)
	}
	if got := lines(w.request(t, 1)); !strings.Contains(got, "OK") {
		t.Errorf("the result is missing in %s", got)
	}
}

// standIn is a provider that offers commands, of which none is run.
type standIn struct{ sandbox.Provider }

func (standIn) Name() string { return "stand-in" }
