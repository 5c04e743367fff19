package middleware_test

import (
	"context"
	"errors"
	"testing"

	"fawn/agent"
	"fawn/agent/middleware"
	"fawn/sandbox"
	"fawn/sandbox/files"
)

// provider only counts who asks for a sandbox.
type provider struct {
	sandbox.Provider
	name  string
	fail  error
	asked []string
}

func (p *provider) Name() string { return p.name }

func (p *provider) Acquire(_ context.Context, thread sandbox.ThreadRef, _ sandbox.Policy) (sandbox.Sandbox, error) {
	p.asked = append(p.asked, thread.ID)
	return nil, p.fail
}

func TestTheStateNamesTheSandboxOnce(t *testing.T) {
	p := &provider{name: "namespace"}
	b := newBench(t, func(func(string) (*files.Files, error)) []agent.Middleware {
		return []agent.Middleware{middleware.Sandbox(p, sandbox.DefaultPolicy, true)}
	})
	b.says("web_search", "x")
	if r := b.call("web_search", `{}`); r.Patch.Sandbox != nil || b.chain[0].BeforeAgent != nil {
		t.Error("a tool that needs no sandbox got one")
	}
	r := b.call("ls", arg{"path": "."})
	if r.Patch.Sandbox == nil || r.Patch.Sandbox.ID != "namespace:t1" {
		t.Errorf("patch %+v", r.Patch.Sandbox)
	}
	if r := b.call("ls", arg{"path": "."}); r.Patch.Sandbox != nil {
		t.Error("the same sandbox is written again")
	}
	if len(p.asked) != 0 {
		t.Error("a lazy sandbox was started by a file tool")
	}
}

func TestAnEagerSandboxIsReadyBeforeTheFirstCall(t *testing.T) {
	for name, c := range map[string]struct {
		fail error
		id   string
	}{"ready": {nil, "landlock:t1"}, "not available": {&sandbox.UnavailableError{Reason: "x"}, ""}} {
		p := &provider{name: "landlock", fail: c.fail}
		b := newBench(t, func(func(string) (*files.Files, error)) []agent.Middleware {
			return []agent.Middleware{middleware.Sandbox(p, sandbox.DefaultPolicy, false)}
		})
		patch, err := b.chain[0].BeforeAgent(t.Context(), b.turn)
		if err != nil || len(p.asked) != 1 || p.asked[0] != "t1" {
			t.Errorf("%s: %v, asked %q", name, err, p.asked)
		}
		if got := patch.Sandbox; (got != nil) != (c.id != "") || got != nil && got.ID != c.id {
			t.Errorf("%s: %+v", name, got)
		}
	}
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	p := &provider{name: "landlock", fail: stop}
	m := middleware.Sandbox(p, sandbox.DefaultPolicy, false)
	if _, err := m.BeforeAgent(ctx, &agent.Turn{ThreadID: "t1"}); !errors.Is(err, stop) {
		t.Errorf("after cancel: %v", err)
	}
}

func TestWithoutASandboxNoneIsNamed(t *testing.T) {
	if m := middleware.Sandbox(nil, sandbox.DefaultPolicy, false); m.BeforeAgent != nil || m.WrapTool != nil {
		t.Error("the stage does something")
	}
	b := newBench(t, func(func(string) (*files.Files, error)) []agent.Middleware {
		return []agent.Middleware{middleware.Sandbox(&provider{name: sandbox.ProviderOff},
			sandbox.DefaultPolicy, false)}
	})
	b.says("ls", "x")
	if r := b.call("ls", arg{"path": "."}); b.chain[0].BeforeAgent != nil || r.Patch.Sandbox != nil {
		t.Errorf("patch %+v", r.Patch.Sandbox)
	}
}

func TestWithoutASandboxTheModelIsToldWhy(t *testing.T) {
	p := &provider{name: sandbox.ProviderOff,
		fail: &sandbox.UnavailableError{Reason: "userns_forbidden; landlock: not supported"}}
	b := newBench(t, func(func(string) (*files.Files, error)) []agent.Middleware {
		return []agent.Middleware{middleware.Sandbox(p, sandbox.DefaultPolicy, true)}
	})
	const want = `Error: bash is disabled: no sandbox is available on this host (reason: userns_forbidden; landlock: not supported). Ask the owner to run "fawn doctor", or set sandbox.provider explicitly.`
	if r := b.call("bash", arg{"command": "id"}); !r.IsError || r.Content.Text != want {
		t.Errorf("%+v", r.Content)
	}
	b.says("ls", "x")
	if r := b.call("ls", arg{"path": "."}); r.IsError {
		t.Errorf("another tool: %+v", r)
	}
}
