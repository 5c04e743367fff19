package middleware

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"fawn/agent"
)

// ToolRouting finds hidden tools for the model: tools preferred by their owner for the person's request, most important
// first, at most top at a time.
func ToolRouting(now func() *Deferred, top int) agent.Middleware {
	return agent.Middleware{
		Name: "tool_routing",
		BeforeModel: func(_ context.Context, t *agent.Turn) (agent.State, error) {
			hidden := now()
			if len(hidden.preferred) == 0 {
				return agent.State{}, nil
			}
			asked := ""
			for i := len(t.State.Messages) - 1; i >= 0 && asked == ""; i-- {
				if m := t.State.Messages[i]; m.Type == agent.TypeHuman {
					asked = strings.ToLower(m.Content.String())
				}
			}
			var names []string
			for _, tool := range hidden.preferred {
				if len(names) == top {
					break
				}
				if slices.ContainsFunc(tool.Prefer.Keywords, func(k string) bool {
					return strings.Contains(asked, k)
				}) {
					names = append(names, tool.Name)
				}
			}
			if !slices.ContainsFunc(names, func(name string) bool { return hidden.hides(t, name) }) {
				return agent.State{}, nil
			}
			return agent.State{Promoted: &agent.Promoted{Catalog: hidden.catalog, Names: names}}, nil
		},
	}
}

// prefer returns the tools that have a preference with keywords, the most important first.
func prefer(tools []*agent.Tool) []*agent.Tool {
	var out []*agent.Tool
	for _, t := range tools {
		if t.Prefer != nil && len(t.Prefer.Keywords) > 0 {
			out = append(out, t)
		}
	}
	slices.SortStableFunc(out, func(a, b *agent.Tool) int {
		return cmp.Or(cmp.Compare(b.Prefer.Priority, a.Prefer.Priority), strings.Compare(a.Name, b.Name))
	})
	return out
}
