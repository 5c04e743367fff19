package middleware

import (
	"context"
	"fmt"
	"strings"

	"fawn/agent"
)

// PlanEdits tells the model about a person's changes of the plan before its next answer, and merges them into a plan
// the model wrote without knowing them.
func PlanEdits() agent.Middleware {
	return agent.Middleware{
		Name: "plan_edits",
		BeforeModel: func(_ context.Context, t *agent.Turn) (agent.State, error) {
			n := len(t.State.Messages)
			if len(t.State.Edited) == 0 || n == 0 {
				return agent.State{}, nil
			}
			var b strings.Builder
			b.WriteString("<system-reminder>\nThe user has changed the plan.\n")
			for _, e := range t.State.Edited {
				writeEdit(&b, e)
			}
			b.WriteString("The plan is now:\n" + todoLines(t.State.Todos) +
				"\nFollow it as it is, and keep these changes when you update it.\n</system-reminder>")
			return agent.State{
				Edited: []agent.PlanEdit{},
				Notes: []agent.Note{{ID: "plan:" + t.NewID(), Message: t.State.Messages[n-1].ID, Place: agent.After,
					Kind: "plan_edit", Text: b.String()}},
			}, nil
		},
		WrapTool: func(next agent.ToolFunc) agent.ToolFunc {
			return func(ctx context.Context, t *agent.Turn, c agent.ToolCall) (agent.Result, error) {
				r, err := next(ctx, t, c)
				if err != nil || c.Name != todoTool || r.Patch.Todos == nil || len(t.State.Edited) == 0 {
					return r, err
				}
				for _, e := range t.State.Edited {
					r.Patch.Todos = e.Merge(r.Patch.Todos)
				}
				r.Content = agent.Text("The user changed the plan at the same time; both changes were made. " +
					"The plan is now:\n" + todoLines(r.Patch.Todos))
				return r, nil
			}
		},
	}
}

// writeEdit describes an edit, one line per item.
func writeEdit(b *strings.Builder, e agent.PlanEdit) {
	was, is := map[string]agent.Todo{}, map[string]bool{}
	for _, t := range e.Before {
		was[t.ID] = t
	}
	moved, last := false, -1
	place := map[string]int{}
	for i, t := range e.Before {
		place[t.ID] = i
	}
	for _, t := range e.After {
		is[t.ID] = true
		old, had := was[t.ID]
		switch {
		case !had:
			fmt.Fprintf(b, "Added: %s\n", agent.Escape(t.Content))
			continue
		case old.Content != t.Content:
			fmt.Fprintf(b, "Rewritten: %s (was: %s)\n", agent.Escape(t.Content), agent.Escape(old.Content))
		case old.Status != t.Status:
			fmt.Fprintf(b, "Now %s: %s\n", agent.Escape(t.Status), agent.Escape(t.Content))
		}
		moved, last = moved || place[t.ID] < last, max(last, place[t.ID])
	}
	for _, t := range e.Before {
		if !is[t.ID] {
			fmt.Fprintf(b, "Struck: %s\n", agent.Escape(t.Content))
		}
	}
	if moved {
		b.WriteString("The order has changed.\n")
	}
}
