package middleware

import (
	"context"
	"fmt"
	"slices"

	"fawn/agent"
)

// Deferred are the tools that a model must search for to get their schemas.
type Deferred struct {
	names     map[string]bool
	catalog   string
	preferred []*agent.Tool
}

// Defer hides tools. catalog is their hash.
func Defer(tools []*agent.Tool, catalog string) *Deferred {
	h := &Deferred{names: make(map[string]bool, len(tools)), catalog: catalog, preferred: prefer(tools)}
	for _, t := range tools {
		h.names[t.Name] = true
	}
	return h
}

// hides reports whether a tool is still hidden in the turn.
func (h *Deferred) hides(t *agent.Turn, name string) bool {
	p := t.State.Promoted
	return h.names[name] && (p == nil || p.Catalog != h.catalog || !slices.Contains(p.Names, name))
}

// DeferredTools hides the schemas of tools until the model finds them with tool_search; now returns the tools of the
// step. A call of a hidden tool returns instructions to search for it.
func DeferredTools(now func() *Deferred) agent.Middleware {
	return agent.Middleware{
		Name: "deferred_tools",
		WrapModel: func(next agent.ModelFunc) agent.ModelFunc {
			return func(ctx context.Context, t *agent.Turn, req *agent.Request) (*agent.Message, error) {
				hidden := now()
				if len(hidden.names) == 0 {
					return next(ctx, t, req)
				}
				req.Tools = slices.DeleteFunc(slices.Clone(req.Tools), func(tool *agent.Tool) bool {
					return hidden.hides(t, tool.Name)
				})
				return next(ctx, t, req)
			}
		},
		WrapTool: func(next agent.ToolFunc) agent.ToolFunc {
			return func(ctx context.Context, t *agent.Turn, c agent.ToolCall) (agent.Result, error) {
				if now().hides(t, c.Name) {
					return agent.ErrorResult(fmt.Sprintf(
						"Error: Tool '%s' is deferred: find its parameters with tool_search (select:%s) before you call it.",
						c.Name, c.Name)), nil
				}
				return next(ctx, t, c)
			}
		},
	}
}
