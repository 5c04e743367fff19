package middleware_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/middleware"
)

// callTool runs one tool under the stage.
func callTool(ctx context.Context, t *testing.T,
	run func(context.Context) (agent.Result, error)) (*agenttest.Sink, error) {
	t.Helper()
	sink := &agenttest.Sink{}
	a := &agent.Agent{Chain: []agent.Middleware{middleware.ToolErrors()},
		Model: &agenttest.Script{Replies: []agenttest.Reply{agenttest.Call("c1", "t", `{}`), agenttest.Say("sorry")}},
		Tools: []*agent.Tool{
			{Name: "t", Run: func(ctx context.Context, _ *agent.Turn, _ agent.ToolCall) (agent.Result, error) {
				return run(ctx)
			}},
		}}
	_, err := a.Run(ctx, agenttest.Turn("go", sink))
	return sink, err
}

func TestToolThatFailsBecomesAResult(t *testing.T) {
	for name, c := range map[string]struct {
		run  func(context.Context) (agent.Result, error)
		want string
	}{
		"error": {func(context.Context) (agent.Result, error) { return agent.Result{}, errors.New("out of paper") },
			"Error: Tool 't' failed: out of paper. Continue with what you have, or use another way."},
		"panic": {func(context.Context) (agent.Result, error) { panic("boom") },
			"Error: Tool 't' failed: panic: boom. Continue with what you have, or use another way."},
		"long error": {func(context.Context) (agent.Result, error) {
			return agent.Result{}, errors.New("x" + strings.Repeat("漢", 400))
		},
			"Error: Tool 't' failed: x" + strings.Repeat("漢", 166) +
				"…. Continue with what you have, or use another way."},
		"its own error result": {func(context.Context) (agent.Result, error) { return agent.ErrorResult("no"), nil }, "no"},
	} {
		sink, err := callTool(t.Context(), t, c.run)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		m := sink.Steps()[1].Patch.Messages[0]
		if m.Content.Text != c.want || m.Status != "error" || !utf8.ValidString(m.Content.Text) {
			t.Errorf("%s: %s %q", name, m.Status, m.Content.Text)
		}
	}
}

func TestCancelledToolStaysCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	sink, err := callTool(ctx, t, func(ctx context.Context) (agent.Result, error) {
		cancel(stopped)
		<-ctx.Done()
		return agent.Result{}, ctx.Err()
	})
	if !errors.Is(err, stopped) {
		t.Errorf("run: %v", err)
	}
	if m := sink.Steps()[1].Patch.Messages[0]; m.Content.Text != agent.InterruptedResult {
		t.Errorf("result: %q", m.Content.Text)
	}
}
