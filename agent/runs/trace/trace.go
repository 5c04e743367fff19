// Package trace defines the observers of runs: of their model calls, their tool calls and their durations.
//
// agent/tracestore stores spans for the pages, web/traceexport sends them to OpenTelemetry collectors.
package trace

import (
	"context"

	"fawn/agent"
	"fawn/store"
)

// Observer receives measurements of runs and their calls. [agent.Observer] describes how it is called.
type Observer interface {
	agent.Observer
	// Run is called when a run starts; one with a Parent is a helper. It returns the run's context, and a function to
	// call with the ended run. A run that another server continues is still running then.
	Run(ctx context.Context, run store.Run) (context.Context, func(store.Run))
}

type traceKey struct{}

// WithParent adds the traceparent of the request that created the run to ctx.
func WithParent(ctx context.Context, trace string) context.Context {
	if trace == "" {
		return ctx
	}
	return context.WithValue(ctx, traceKey{}, trace)
}

// Parent returns the traceparent of the request that created ctx's run, or "".
func Parent(ctx context.Context) string {
	s, _ := ctx.Value(traceKey{}).(string)
	return s
}

// Observers are several observers as one.
type Observers []Observer

// calls returns the observers of calls.
func (o Observers) calls() agent.Observers {
	out := make(agent.Observers, len(o))
	for i, one := range o {
		out[i] = one
	}
	return out
}

// Model implements Observer.
func (o Observers) Model(ctx context.Context, t *agent.Turn, c *agent.ModelCall) {
	for _, one := range o {
		one.Model(ctx, t, c)
	}
}

// Tool implements Observer.
func (o Observers) Tool(ctx context.Context, t *agent.Turn, c agent.ToolCall,
	known bool) (context.Context, func(agent.Result, error)) {
	return o.calls().Tool(ctx, t, c, known)
}

// Run implements Observer. The outcome is reported to the observers in reverse order.
func (o Observers) Run(ctx context.Context, run store.Run) (context.Context, func(store.Run)) {
	ends := make([]func(store.Run), len(o))
	for i, one := range o {
		ctx, ends[i] = one.Run(ctx, run)
	}
	return ctx, func(run store.Run) {
		for i := len(ends) - 1; i >= 0; i-- {
			ends[i](run)
		}
	}
}
