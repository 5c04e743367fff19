package lead

import (
	"context"
	"fmt"

	"fawn/agent"
	"fawn/agent/middleware"
)

// CallForApp makes a call that an app of an MCP server asks for. The stages that judge calls of models judge it, too,
// and what is switched off in the thread or for everybody, or what the person may not use, is refused.
func (b *Builder) CallForApp(ctx context.Context, t *agent.Turn, tool *agent.Tool, c agent.ToolCall) (agent.Result, error) {
	snap := b.config()
	f := snap.File
	may, err := b.access.Of(ctx, t.Owner)
	if err != nil {
		return agent.Result{}, err
	}
	without, err := b.lacks(ctx, f, t.ThreadID, may)
	if err != nil {
		return agent.Result{}, err
	}
	project, err := b.project(ctx, t.ThreadID)
	if err != nil {
		return agent.Result{}, err
	}
	if project.without(without)(tool) {
		return agent.ErrorResult(fmt.Sprintf("Error: the tool %q is switched off in this chat.", tool.Native)), nil
	}
	call := agent.ToolFunc(tool.Run)
	for _, m := range []agent.Middleware{
		middleware.ToolErrors(),
		when(f.Guardrails.Enabled, middleware.Guardrail(guard(f.Guardrails), f.Guardrails.Passport, f.Guardrails.FailClosed, b.audit)),
		when(f.Authorization.Enabled, middleware.Authorization(authorizer(f.Authorization), f.Authorization.DefaultRole,
			f.Authorization.FailClosed, b.audit)),
	} {
		if m.WrapTool != nil {
			call = m.WrapTool(call)
		}
	}
	return call(ctx, t, c)
}
