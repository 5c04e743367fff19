package lead

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"fawn/agent"
	"fawn/agent/config"
	"fawn/agent/mcp"
)

// Limits of the model calls that MCP servers ask for.
const (
	maxSamples      = 20   // limit per run
	maxSampleTokens = 4096 // limit per answer
)

var errBudgetSpent = errors.New("the run's budget is spent")

// sampling lets permitted MCP servers request model calls during their tool calls, charged to the run.
func (b *Builder) sampling(snap *config.Snapshot, e equipment) agent.Middleware {
	allowed := false
	for _, s := range snap.Extensions.MCPServers {
		allowed = allowed || s.Enabled && s.Sampling
	}
	call := b.sideCall(snap, sideModel(snap, "", e.model), e.model, e.job("mcp"))
	if !allowed || call == nil {
		return agent.Middleware{}
	}
	var made atomic.Int64
	sample := func(ctx context.Context, req *agent.Request) (*agent.Message, error) {
		if e.budget.Over(snap.File.TokenBudget) {
			return nil, errBudgetSpent
		}
		if made.Add(1) > maxSamples {
			return nil, fmt.Errorf("a run may make at most %d model calls for its tools", maxSamples)
		}
		if most := &req.Options.MaxTokens; *most <= 0 || *most > maxSampleTokens {
			*most = maxSampleTokens
		}
		return call(ctx, req)
	}
	return agent.Middleware{Name: "sampling", WrapTool: func(next agent.ToolFunc) agent.ToolFunc {
		return func(ctx context.Context, t *agent.Turn, c agent.ToolCall) (agent.Result, error) {
			return next(mcp.WithSampler(ctx, sample), t, c)
		}
	}}
}
