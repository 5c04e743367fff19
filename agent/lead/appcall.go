package lead

import (
	"context"
	"fmt"

	"fawn/agent"
	"fawn/agent/config"
	"fawn/agent/middleware"
)

// CallForApp makes a call requested by an app of an MCP server. It passes the same checking stages as calls of models;
// tools switched off in the thread or globally, and those the person may not use, are refused.
func (b *Builder) CallForApp(ctx context.Context, t *agent.Turn, tool *agent.Tool, c agent.ToolCall) (agent.Result, error) {
	f := b.config().File
	without, err := b.appsWithout(ctx, f, t.Owner, t.ThreadID)
	if err != nil {
		return agent.Result{}, err
	}
	if without(tool) {
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

// AppServer reports whether a thread may show apps of a server: the owner may use it, its project has chosen it, and it
// is not switched off.
func (b *Builder) AppServer(ctx context.Context, owner, thread, server string) (bool, error) {
	without, err := b.appsWithout(ctx, b.config().File, owner, thread)
	return err == nil && !without(&agent.Tool{Server: server, MCP: true}), err
}

// appsWithout reports which tools apps in a thread do without.
func (b *Builder) appsWithout(ctx context.Context, f config.File, owner, thread string) (func(*agent.Tool) bool, error) {
	may, err := b.access.Of(ctx, owner)
	if err != nil {
		return nil, err
	}
	without, err := b.lacks(ctx, f, thread, nil, may)
	if err != nil {
		return nil, err
	}
	project, err := b.project(ctx, thread)
	if err != nil {
		return nil, err
	}
	return project.without(without), nil
}
