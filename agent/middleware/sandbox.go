package middleware

import (
	"context"

	"fawn/agent"
	"fawn/sandbox"
)

// Sandbox records the thread's sandbox in the state, once. If lazy, the first tool call that needs it creates it;
// otherwise it is created before the first model call, and failures are reported by the call that needs it. The
// provider ends idle sandboxes. Without a sandbox, a model that calls bash gets the reason.
func Sandbox(p sandbox.Provider, policy func() sandbox.Policy, lazy bool) agent.Middleware {
	m := agent.Middleware{Name: "sandbox"}
	if p == nil {
		return m
	}
	if p.Name() == sandbox.ProviderOff {
		m.WrapTool = func(next agent.ToolFunc) agent.ToolFunc {
			return func(ctx context.Context, t *agent.Turn, c agent.ToolCall) (agent.Result, error) {
				if c.Name != "bash" {
					return next(ctx, t, c)
				}
				_, err := p.Acquire(ctx, sandbox.ThreadRef{ID: t.ThreadID, Owner: t.Owner}, policy())
				if err == nil { // it never returns one
					return next(ctx, t, c)
				}
				return agent.ErrorResult("Error: " + err.Error()), nil
			}
		}
		return m
	}
	name := func(t *agent.Turn) agent.State {
		if t.State.Sandbox != nil && t.State.Sandbox.ID != "" {
			return agent.State{}
		}
		return agent.State{Sandbox: &agent.SandboxRef{ID: p.Name() + ":" + t.ThreadID}}
	}
	if !lazy {
		m.BeforeAgent = func(ctx context.Context, t *agent.Turn) (agent.State, error) {
			if _, err := p.Acquire(ctx, sandbox.ThreadRef{ID: t.ThreadID, Owner: t.Owner}, policy()); err != nil {
				if ctx.Err() != nil {
					return agent.State{}, context.Cause(ctx)
				}
				t.Log.Warn("couldn't prepare the sandbox", "err", err)
				return agent.State{}, nil
			}
			return name(t), nil
		}
	}
	m.WrapTool = func(next agent.ToolFunc) agent.ToolFunc {
		return func(ctx context.Context, t *agent.Turn, c agent.ToolCall) (agent.Result, error) {
			r, err := next(ctx, t, c)
			if err != nil || !sandboxed(c.Name) {
				return r, err
			}
			patch, joined := agent.Join(r.Patch, name(t))
			if joined != nil { // a tool that sets its own value keeps it
				return r, nil
			}
			r.Patch = patch
			return r, nil
		}
	}
	return m
}

// sandboxed reports whether a tool works inside the sandbox.
func sandboxed(name string) bool {
	switch name {
	case "bash", "ls", "glob", "grep", "read_file", "write_file", "str_replace":
		return true
	}
	return false
}
