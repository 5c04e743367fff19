package middleware

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"fawn/agent"
)

const (
	todoTool         = "write_todos"
	maxTodoReminders = 2 // limit of reminders per run
)

// Todos keeps a run in plan mode on its plan: it shows the model a plan that is no longer visible,
// sends an answer back while items are open, and refuses two plans in one answer.
func Todos() agent.Middleware {
	sent, remind := 0, false
	return agent.Middleware{
		Name: "todos",
		WrapModel: func(next agent.ModelFunc) agent.ModelFunc {
			return func(ctx context.Context, t *agent.Turn, req *agent.Request) (*agent.Message, error) {
				open := openTodos(t.State.Todos)
				switch {
				case remind && len(open) > 0:
					addNote(req, "todo_completion_reminder", "Your plan still has open items:\n"+todoLines(open)+
						"\nGo on with them. If one is done or not needed any more, say so with write_todos, then answer.")
				case len(open) > 0 && len(req.Tools) > 0 && !callsTool(req.Messages, todoTool):
					addNote(req, "todo_reminder",
						"Your plan, which is further back than you can see:\n"+todoLines(t.State.Todos)+
							"\nKeep it up to date with write_todos.")
				}
				m, err := next(ctx, t, req)
				if err == nil {
					remind = false
				}
				return m, err
			}
		},
		AfterModel: func(_ context.Context, t *agent.Turn, r *agent.Reply) error {
			m, plan := r.Message, t.Todos()
			if r.Final || r.Jump != agent.Continue || len(m.Calls()) > 0 ||
				strings.TrimSpace(m.Content.String()) == "" || len(openTodos(plan)) == 0 ||
				!callsTool(sinceQuestion(t.State.Messages), todoTool) {
				return nil
			}
			edited := len(openTodos(plan)) > len(openTodos(t.State.Todos)) // by a person, during the answer
			if sent >= maxTodoReminders && !edited {
				return nil
			}
			if f := m.Meta["finish_reason"]; f != nil && f != "stop" && f != "end_turn" {
				return nil
			}
			if !edited {
				sent++
			}
			remind, r.Jump = true, agent.ToModel
			return nil
		},
		WrapTool: func(next agent.ToolFunc) agent.ToolFunc {
			return func(ctx context.Context, t *agent.Turn, c agent.ToolCall) (agent.Result, error) {
				if c.Name == todoTool && plansOf(t.State.Messages, c.ID) > 1 {
					return agent.ErrorResult(
						"Error: write_todos was called more than once in one answer. Each call replaces the whole list: call it once."), nil
				}
				return next(ctx, t, c)
			}
		},
	}
}

// plansOf counts the plans in the answer that contains a call.
func plansOf(msgs []*agent.Message, call string) (n int) {
	for _, m := range slices.Backward(msgs) {
		if m.Type != agent.TypeAI || !slices.Contains(m.Calls(), call) {
			continue
		}
		for _, c := range m.ToolCalls {
			if c.Name == todoTool {
				n++
			}
		}
		return n
	}
	return 0
}

func callsTool(msgs []*agent.Message, tool string) bool {
	return slices.ContainsFunc(msgs, func(m *agent.Message) bool {
		return slices.ContainsFunc(m.ToolCalls, func(c agent.ToolCall) bool { return c.Name == tool })
	})
}

func openTodos(list []agent.Todo) (open []agent.Todo) {
	for _, t := range list {
		if t.Status != "completed" {
			open = append(open, t)
		}
	}
	return open
}

func todoLines(list []agent.Todo) string {
	lines := make([]string, len(list))
	for i, t := range list {
		lines[i] = fmt.Sprintf("- [%s] %s", agent.Escape(t.Status), agent.Escape(t.Content))
	}
	return strings.Join(lines, "\n")
}
