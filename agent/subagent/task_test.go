package subagent

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"fawn/agent"
)

// TestACallIsRead in the form of today and in older ones, or told what is wrong with it.
func TestACallIsRead(t *testing.T) {
	o := Options{Kinds: []Kind{{Name: General}, {Name: "bash"}}}
	for _, c := range []struct {
		args, prompt, description, kind string
		groups                          []string
		problem                         string
	}{
		{args: `{"description":"d","prompt":"p","subagent_type":"bash"}`, prompt: "p", description: "d", kind: "bash"},
		{args: `{"instruction":"dig\ndeep","context":"c","tools":["web","bash"]}`, prompt: "c\n\ndig\ndeep", description: "c", kind: General, groups: []string{"web", "bash"}},
		{args: `{"prompt":"p","tools":"web, bash"}`, prompt: "p", description: "p", kind: General, groups: []string{"web", "bash"}},
		{args: `{"prompt":"p","tools":"[\"web\"]"}`, prompt: "p", description: "p", kind: General, groups: []string{"web"}},
		{args: `{"prompt":" "}`, problem: `"prompt" is missing`},
		{args: `{"prompt":"p","subagent_type":"poet"}`, problem: "available are general-purpose, bash"},
		{args: `{"prompt":7}`, problem: "cannot be read"},
		{args: `{"prompt":"` + strings.Repeat("x", maxPrompt+1) + `"}`, problem: "at most 262144"},
	} {
		j, problem := o.read(agent.ToolCall{ID: "c", Args: json.RawMessage(c.args)})
		if c.problem != "" {
			if !strings.Contains(problem, c.problem) {
				t.Errorf("%.60s: %q, want %q", c.args, problem, c.problem)
			}
			continue
		}
		if problem != "" || j.Call != "c" || j.Prompt != c.prompt || j.Description != c.description ||
			j.Kind.Name != c.kind || !slices.Equal(j.Groups, c.groups) {
			t.Errorf("%s: %+v, %s", c.args, j, problem)
		}
	}
}

// TestAKindChoosesItsTools: what it lists and is not denied, of the groups that the call names.
func TestAKindChoosesItsTools(t *testing.T) {
	var all []*agent.Tool
	for _, name := range []string{"task", "ask_clarification", "present_files", "write_todos", "bash:bash",
		"ls:file:read", "free"} {
		name, group, _ := strings.Cut(name, ":")
		all = append(all, &agent.Tool{Name: name, Group: group})
	}
	for _, c := range []struct {
		kind   Kind
		groups []string
		want   string
	}{
		{Kind{Denied: Withheld()}, nil, "bash ls free"},
		{Kind{}, nil, "present_files bash ls free"},
		{Kind{Tools: []string{"task", "ls"}}, nil, "ls"},
		{Kind{Tools: []string{}}, nil, ""},
		{Kind{Denied: Withheld()}, []string{"file:read"}, "ls free"},
		{Kind{Denied: Withheld()}, []string{"bash"}, "bash free"},
	} {
		var got []string
		for _, tool := range c.kind.Choose(all, c.groups) {
			got = append(got, tool.Name)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%+v %v: %v, want %s", c.kind, c.groups, got, c.want)
		}
	}
}
