package middleware

import (
	"context"
	"fmt"
	"slices"

	"fawn/agent"
)

// DeferredTools hides the schemas of tools until the model has found them with
// tool_search. catalog is their hash. A call of one that was not found is answered with how
// to find it.
func DeferredTools(tools []*agent.Tool, catalog string) agent.Middleware {
	hidden := func(t *agent.Turn, name string) bool {
		p := t.State.Promoted
		return p == nil || p.Catalog != catalog || !slices.Contains(p.Names, name)
	}
	deferred := map[string]bool{}
	for _, t := range tools {
		deferred[t.Name] = true
	}
	return agent.Middleware{
		Name: "deferred_tools",
		WrapModel: func(next agent.ModelFunc) agent.ModelFunc {
			return func(ctx context.Context, t *agent.Turn, req *agent.Request) (*agent.Message, error) {
				req.Tools = slices.DeleteFunc(slices.Clone(req.Tools), func(tool *agent.Tool) bool {
					return deferred[tool.Name] && hidden(t, tool.Name)
				})
				return next(ctx, t, req)
			}
		},
		WrapTool: func(next agent.ToolFunc) agent.ToolFunc {
			return func(ctx context.Context, t *agent.Turn, c agent.ToolCall) (agent.Result, error) {
				if deferred[c.Name] && hidden(t, c.Name) {
					return agent.ErrorResult(fmt.Sprintf("Error: Tool '%s' is deferred: find its parameters with tool_search (select:%s) before you call it.", c.Name, c.Name)), nil
				}
				return next(ctx, t, c)
			}
		},
	}
}
