package tools_test

import (
	"encoding/json"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/tools"
)

func run(t testing.TB, tool *agent.Tool, turn *agent.Turn, args string) agent.Result {
	t.Helper()
	r := must.Get(tool.Run(t.Context(), turn, agent.ToolCall{ID: "c", Name: tool.Name, Args: json.RawMessage(args)}))(t)
	return r
}

func TestTodosKeepTheirIDs(t *testing.T) {
	turn := agenttest.Turn("x", &agenttest.Sink{})
	tool := tools.Todos()
	for _, c := range []struct{ args, ids, says string }{
		{`{"todos":[{"content":"a","status":"pending"},{"content":"b","status":"pending"}]}`, "1 2", "- [pending] a\n- [pending] b"},
		{`{"todos":[{"content":"b","status":"completed"},{"title":"c","status":"in_progress"},{"content":"b","status":"pending"}]}`, "2 3 4", "- [completed] b\n- [in_progress] c"},
		{`{"todos":"[{\"content\":\"c\",\"status\":\"completed\"}]"}`, "3", "- [completed] c"},
		{`{"todos":[{"id":"plot","content":"c","status":"completed"},{"id":7,"content":"d","status":"pending"},{"content":"e","status":"pending"}]}`, "plot 7 8", "- [pending] d"},
		{`{"todos":[{"id":"x","content":"f","status":"pending"},{"id":"x","content":"d","status":"pending"}]}`, "x 7", "- [pending] f"},
		{`{"todos":[]}`, "", "Updated todo list: empty"},
	} {
		r := run(t, tool, turn, c.args)
		var ids []string
		for _, todo := range r.Patch.Todos {
			ids = append(ids, todo.ID)
		}
		got := strings.Join(ids, " ")
		if got != c.ids || !strings.Contains(r.Content.Text, c.says) || r.Patch.Todos == nil {
			t.Errorf("%s: ids %q, %q", c.args, got, r.Content.Text)
		}
		turn.State.Todos = r.Patch.Todos
	}
	for _, args := range []string{`{}`, `{"todos":null}`, `{"todos":7}`, `{"todos":"x"}`,
		`{"todos":[{"status":"pending"}]}`, `{"todos":[{"content":"a","status":"soon"}]}`,
		`{"todos":[{"id":"` + strings.Repeat("i", 65) + `","content":"a","status":"pending"}]}`,
		`{"todos":[` + strings.Repeat(`{"content":"a","status":"pending"},`, 100) + `{"content":"a","status":"pending"}]}`} {
		if r := run(t, tool, turn, args); !r.IsError || r.Patch.Todos != nil {
			t.Errorf("%.60s: %+v", args, r)
		}
	}
}

func TestHiddenToolsAreFound(t *testing.T) {
	var hidden []*agent.Tool
	for _, s := range []string{"gh_issue:reads issues", "gh_pull:reads pull requests", "mail_send:sends (mail",
		"gh_search:finds issues"} {
		name, text, _ := strings.Cut(s, ":")
		hidden = append(hidden,
			&agent.Tool{Name: name, Description: text, Schema: json.RawMessage(`{"type":"object"}`)})
	}
	search := tools.Search(hidden)
	for _, c := range []struct{ query, want string }{
		{"select:mail_send, gh_pull,none,mail_send", "mail_send gh_pull"},
		{"+gh issues", "gh_issue gh_search gh_pull"},
		{"+gh", "gh_issue gh_pull gh_search"},
		{"+", ""},
		{"ISSUE", "gh_issue gh_search"},
		{"^gh_p", "gh_pull"},
		{"(mail", "mail_send"},
		{"nothing like it", ""},
		{".", "gh_issue gh_pull mail_send gh_search"},
	} {
		args := must.Get(json.Marshal(map[string]string{"query": c.query}))(t)
		r := run(t, search, nil, string(args))
		var names []string
		if r.Patch.Promoted != nil {
			names = r.Patch.Promoted.Names
			if r.Patch.Promoted.Catalog != tools.Catalog(hidden) || len(r.Patch.Promoted.Catalog) != 16 {
				t.Errorf("catalogue %q", r.Patch.Promoted.Catalog)
			}
		} else if !strings.HasPrefix(r.Content.Text, "No tools found matching: ") {
			t.Errorf("%s: %q", c.query, r.Content.Text)
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%s: %q, want %q", c.query, got, c.want)
		}
	}
	if r := run(t, search, nil, `{"query":" "}`); !r.IsError {
		t.Errorf("%+v", r)
	}
}
