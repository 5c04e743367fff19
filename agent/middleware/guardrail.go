package middleware

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"fawn/agent"
	"fawn/agent/command"
)

// GuardRequest is a tool call as a guard sees it.
type GuardRequest struct {
	Tool     string
	Input    json.RawMessage
	Agent    string // passport from the configuration
	Thread   string
	Run      string
	Call     string
	Subagent bool
	At       time.Time
}

// GuardVerdict is a guard's answer.
type GuardVerdict struct {
	Allow        bool
	Code, Reason string
}

// Guard decides about one call. It must be fast and safe for concurrent use.
type Guard func(ctx context.Context, r GuardRequest) (GuardVerdict, error)

// AllowList returns the guard of two lists: allowed nil is every tool, an empty list none.
func AllowList(allowed, denied []string) Guard {
	return func(_ context.Context, r GuardRequest) (GuardVerdict, error) {
		switch {
		case slices.Contains(denied, r.Tool):
			return GuardVerdict{Code: "oap.tool_not_allowed", Reason: "the tool is on the list of denied ones"}, nil
		case allowed != nil && !slices.Contains(allowed, r.Tool):
			return GuardVerdict{Code: "oap.tool_not_allowed",
				Reason: "the tool is not on the list of allowed ones"}, nil
		}
		return GuardVerdict{Allow: true}, nil
	}
}

// Authorization returns a Guardrail which asks on behalf of a role.
func Authorization(guard Guard, role string, failClosed bool, record func(AuditRecord)) agent.Middleware {
	m := Guardrail(guard, role, failClosed, record)
	m.Name = "authorization"
	return m
}

// Guardrail calls the guard before each tool call. A denied call is a result the model can act on. A failing guard
// denies if failClosed is set. Denials, and calls permitted despite a failing guard, are recorded.
func Guardrail(guard Guard, passport string, failClosed bool, record func(AuditRecord)) agent.Middleware {
	return agent.Middleware{
		Name: "guardrail",
		WrapTool: func(next agent.ToolFunc) agent.ToolFunc {
			return func(ctx context.Context, t *agent.Turn, c agent.ToolCall) (agent.Result, error) {
				v, err := guard(ctx, GuardRequest{Tool: c.Name, Input: c.Args, Agent: passport, Thread: t.ThreadID,
					Run: t.RunID, Call: c.ID, Subagent: t.NS != "", At: time.Now()})
				if ctx.Err() != nil {
					return agent.Result{}, context.Cause(ctx)
				}
				if err != nil {
					t.Log.Warn("guardrail failed", "tool", c.Name, "closed", failClosed, "err", err)
					v = GuardVerdict{Allow: !failClosed, Code: "oap.evaluator_error",
						Reason: "the guard could not decide"}
				}
				if v.Allow && err == nil {
					return next(ctx, t, c)
				}
				verdict := command.Block
				if v.Allow {
					verdict = command.Warn
				}
				record(AuditRecord{Thread: t.ThreadID, Run: t.RunID, Call: c.ID, Tool: c.Name, Verdict: verdict,
					Reason: strings.TrimSpace("guardrail: " + v.Code + " " + v.Reason)})
				if v.Allow {
					return next(ctx, t, c)
				}
				return agent.ErrorResult(fmt.Sprintf(
					"Guardrail denied: tool '%s' was blocked (%s). Reason: %s. Choose another way, or say that it is not allowed.",
					c.Name, v.Code, v.Reason)), nil
			}
		},
	}
}
