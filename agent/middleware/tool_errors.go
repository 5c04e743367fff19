package middleware

import (
	"context"
	"fmt"
	"strings"

	"fawn/agent"
)

// maxErrorDetail limits a tool's error message for the model, in bytes.
const maxErrorDetail = 500

// ToolErrors turns a tool's failure, panics included, into an error result, so that the model can try something else. A
// canceled call stays canceled.
func ToolErrors() agent.Middleware {
	return agent.Middleware{
		Name: "tool_errors",
		WrapTool: func(next agent.ToolFunc) agent.ToolFunc {
			return func(ctx context.Context, t *agent.Turn, c agent.ToolCall) (agent.Result, error) {
				r, err := next(ctx, t, c)
				switch {
				case err == nil:
					return marked(r, c, fromTool), nil
				case ctx.Err() != nil:
					return r, err
				}
				t.Log.Warn("tool failed", "tool", c.Name, "err", err)
				detail := err.Error()
				if len(detail) > maxErrorDetail {
					detail = strings.ToValidUTF8(detail[:maxErrorDetail], "") + "…" // the cut may split a character
				}
				r = agent.ErrorResult(fmt.Sprintf(
					"Error: Tool '%s' failed: %s. Continue with what you have, or use another way.", c.Name, detail))
				return marked(r, c, fromException), nil
			}
		},
	}
}
