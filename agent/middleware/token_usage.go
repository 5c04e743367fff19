package middleware

import (
	"context"
	"encoding/json"

	"fawn/agent"
)

// TokenUsage logs the cost of each call and records its purpose on the answer.
func TokenUsage() agent.Middleware {
	return agent.Middleware{
		Name: "token_usage",
		AfterModel: func(_ context.Context, t *agent.Turn, r *agent.Reply) error {
			m := r.Message
			if u := m.Usage; u != nil {
				t.Log.Info("LLM token usage", "input", u.Input, "output", u.Output, "total", u.Total, "ns", t.NS)
			}
			r.Message = m.With("token_usage_attribution", attribute(t, m))
			return nil
		},
	}
}

// attribution describes the purpose of an answer's tokens.
type attribution struct {
	Version int              `json:"version"`
	Kind    string           `json:"kind"` // todo_update, subagent_dispatch, tool_batch, final_answer, thinking
	Shared  bool             `json:"shared_attribution"`
	CallIDs []string         `json:"tool_call_ids"`
	Actions []map[string]any `json:"actions"`
}

func attribute(t *agent.Turn, m *agent.Message) attribution {
	a := attribution{Version: 1, CallIDs: m.Calls(), Actions: []map[string]any{}}
	todos, tasks := 0, 0
	for _, c := range m.ToolCalls {
		switch c.Name {
		case todoTool:
			todos++
		case "task":
			tasks++
		}
		a.Actions = append(a.Actions, actions(t.State.Todos, c)...)
	}
	switch {
	case tasks > 0:
		a.Kind = "subagent_dispatch"
	case todos > 0 && todos == len(m.ToolCalls):
		a.Kind = "todo_update"
	case len(a.CallIDs) > 0:
		a.Kind = "tool_batch"
	case m.Content.String() != "":
		a.Kind = "final_answer"
	default:
		a.Kind = "thinking"
	}
	a.Shared = len(a.Actions) > 1
	return a
}

// actions describe a call in words for people.
func actions(plan []agent.Todo, c agent.ToolCall) []map[string]any {
	var args struct {
		Todos       []agent.Todo `json:"todos"`
		Query       string       `json:"query"`
		Description string       `json:"description"`
		Type        string       `json:"subagent_type"`
		Question    string       `json:"question"`
	}
	if json.Unmarshal(c.Args, &args) != nil {
		args.Todos = nil
	}
	one := func(kind string, more ...any) []map[string]any {
		a := map[string]any{"kind": kind, "tool_call_id": c.ID, "tool_name": c.Name}
		for i := 0; i+1 < len(more); i += 2 {
			if s, _ := more[i+1].(string); s != "" {
				a[more[i].(string)] = shorten(s, maxChoiceChars)
			}
		}
		return []map[string]any{a}
	}
	switch c.Name {
	case todoTool:
		if list := todoActions(plan, args.Todos, c.ID); len(list) > 0 {
			return list
		}
		return one("todo_update")
	case "task":
		return one("subagent", "description", args.Description, "subagent_type", args.Type)
	case "web_search", "image_search", "web_fetch":
		return one("search", "query", args.Query)
	case "present_files":
		return one("present_files")
	case askTool:
		return one("clarification", "question", args.Question)
	}
	return one("tool", "description", args.Description)
}

// todoActions compares two plans.
func todoActions(old, list []agent.Todo, call string) (out []map[string]any) {
	add := func(kind, content string) {
		out = append(out, map[string]any{"kind": kind, "content": shorten(content, maxChoiceChars),
			"tool_call_id": call, "tool_name": todoTool})
	}
	was := map[string]string{}
	for _, t := range old {
		was[t.Content] = t.Status
	}
	is := map[string]bool{}
	for _, t := range list {
		is[t.Content] = true
		switch before := was[t.Content]; {
		case before == t.Status:
		case t.Status == "in_progress":
			add("todo_start", t.Content)
		case t.Status == "completed":
			add("todo_complete", t.Content)
		default:
			add("todo_update", t.Content)
		}
	}
	for _, t := range old {
		if !is[t.Content] {
			add("todo_remove", t.Content)
		}
	}
	return out
}
