package tools

import (
	"context"
	_ "embed" // the texts of the tools
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"fawn/agent"
)

// WriteTodos is the name of the tool that keeps the plan of a run in plan mode.
const WriteTodos = "write_todos"

//go:embed write_todos.md
var writeTodosText string

const writeTodosSchema = `{"type":"object","required":["todos"],"properties":{
"todos":{"type":"array","description":"the whole plan, in order","items":{"type":"object","required":["content","status"],"properties":{
"id":{"type":"string"},
"content":{"type":"string","description":"what is to be done"},
"status":{"type":"string","enum":["pending","in_progress","completed"]}}}}}}`

// Todos returns the tool that writes the plan. It replaces the state's list. Items may have ids; one without an id gets
// the same item's previous id.
func Todos() *agent.Tool {
	return &agent.Tool{
		Name: WriteTodos, Description: strings.TrimSpace(writeTodosText), Schema: json.RawMessage(writeTodosSchema),
		Run: func(_ context.Context, t *agent.Turn, c agent.ToolCall) (agent.Result, error) {
			list, problem := readTodos(c.Args)
			if problem != "" {
				return agent.ErrorResult("Error: " + problem), nil
			}
			known := t.State.Todos
			for _, e := range t.State.Edited { // the model may speak of the plan before them
				known = slices.Concat(known, e.Before)
			}
			agent.KeepTodoIDs(known, list)
			r := agent.TextResult(todoText(list))
			r.Patch.Todos = list
			return r, nil
		},
	}
}

// readTodos parses the arguments. The list may be JSON inside a string.
func readTodos(raw json.RawMessage) (list []agent.Todo, problem string) {
	var args struct {
		Todos json.RawMessage `json:"todos"`
	}
	if err := json.Unmarshal(raw, &args); err != nil || len(args.Todos) == 0 || string(args.Todos) == "null" {
		return nil, `argument "todos" is missing`
	}
	var text string
	if json.Unmarshal(args.Todos, &text) == nil {
		args.Todos = json.RawMessage(text)
	}
	if err := json.Unmarshal(args.Todos, &list); err != nil {
		return nil, `argument "todos" must be a list of objects with content and status`
	}
	if len(list) > agent.MaxTodos {
		return nil, fmt.Sprintf("a plan has at most %d items, this one %d", agent.MaxTodos, len(list))
	}
	for i := range list {
		t := &list[i]
		t.Content = strings.TrimSpace(t.Content)
		switch {
		case t.Content == "":
			return nil, fmt.Sprintf("item %d has no content", i+1)
		case len([]rune(t.Content)) > agent.MaxTodoChars:
			return nil, fmt.Sprintf("item %d is longer than %d characters", i+1, agent.MaxTodoChars)
		case len(t.ID) > agent.MaxTodoID:
			return nil, fmt.Sprintf("the id of item %d is longer than %d bytes", i+1, agent.MaxTodoID)
		case t.Status != "pending" && t.Status != "in_progress" && t.Status != "completed":
			return nil, fmt.Sprintf("item %d has the status %q; it must be pending, in_progress or completed", i+1,
				clip(t.Status, 40))
		}
		t.Title = t.Content
	}
	if list == nil {
		list = []agent.Todo{}
	}
	return list, ""
}

// todoText formats the plan for the model.
func todoText(list []agent.Todo) string {
	var b strings.Builder
	b.WriteString("Updated todo list:")
	for _, t := range list {
		fmt.Fprintf(&b, "\n- [%s] %s", t.Status, agent.Escape(t.Content))
	}
	if len(list) == 0 {
		b.WriteString(" empty")
	}
	return b.String()
}
