// Package traceexport sends a trace of each run to collectors of OpenTelemetry, with spans for agents, model calls and
// tools under the conventions for generative AI. A slow collector never delays a run: spans that don't fit its queue
// are dropped.
package traceexport

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"fawn/agent"
	"fawn/agent/runs"
	runtrace "fawn/agent/runs/trace"
	"fawn/store"
)

// Limits of the queue for a collector: spans, and bytes of one attribute.
const (
	maxQueue    = 2048
	maxContents = 512 // the same when prompts and answers are among them
	maxText     = 16 << 10
)

// Config selects the exported data and its targets.
type Config struct {
	Targets []Target
	Service string // service.name
	Version string
	Ratio   float64             // share of the traces begun here, 0 to 1; a caller's own decision takes precedence
	Content bool                // prompts, answers, arguments and results too
	Redact  func(string) string // takes secrets out of content and errors; nil takes none
	Agents  map[string]string   // names of assistants, by id
	Log     *slog.Logger
}

// Tracer is a trace.Observer. Close must be called.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	content  bool
	agents   map[string]string
	redact   func(string) string
}

// New starts a tracer with at least one target.
func New(c Config) *Tracer {
	queue := maxQueue
	if c.Content {
		queue = maxContents
	}
	limits := sdk.NewSpanLimits()
	limits.AttributeValueLengthLimit, limits.EventCountLimit, limits.LinkCountLimit = 4*maxText, 16, 4
	options := []sdk.TracerProviderOption{
		sdk.WithResource(resource.NewSchemaless(attribute.String("service.name", c.Service),
			attribute.String("service.version", c.Version))),
		sdk.WithSampler(sdk.ParentBased(sdk.TraceIDRatioBased(c.Ratio))),
		sdk.WithRawSpanLimits(limits),
	}
	for _, t := range c.Targets {
		options = append(options, sdk.WithBatcher(newExporter(t, c.Log), sdk.WithMaxQueueSize(queue),
			sdk.WithMaxExportBatchSize(queue/4), sdk.WithBatchTimeout(2*time.Second),
			sdk.WithExportTimeout(exportTime)))
	}
	t := &Tracer{provider: sdk.NewTracerProvider(options...), content: c.Content, agents: c.Agents, redact: c.Redact}
	if t.redact == nil {
		t.redact = func(s string) string { return s }
	}
	t.tracer = t.provider.Tracer("fawn", trace.WithInstrumentationVersion(c.Version))
	return t
}

// Close sends the queued spans until ctx ends.
func (t *Tracer) Close(ctx context.Context) error { return t.provider.Shutdown(ctx) }

// Run implements trace.Observer.
func (t *Tracer) Run(ctx context.Context, run store.Run) (context.Context, func(store.Run)) {
	if parent := runtrace.Parent(ctx); parent != "" && !trace.SpanContextFromContext(ctx).IsValid() {
		ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": parent})
	}
	name := t.agent(run)
	ctx, span := t.tracer.Start(ctx, "invoke_agent "+name, trace.WithAttributes(
		attribute.String("gen_ai.operation.name", "invoke_agent"),
		attribute.String("gen_ai.agent.name", name),
		attribute.String("gen_ai.agent.id", run.AssistantID),
		attribute.String("gen_ai.conversation.id", run.ThreadID),
		attribute.String("session.id", run.ThreadID),
		attribute.String("user.id", run.Owner),
		attribute.String("langsmith.span.kind", "chain"),
		attribute.String("fawn.run.id", run.ID),
		attribute.Int("fawn.run.attempt", run.Attempt)))
	return ctx, func(run store.Run) {
		span.SetAttributes(attribute.String("fawn.run.status", run.Status))
		if run.StopReason != "" {
			span.SetAttributes(attribute.String("fawn.run.stop_reason", run.StopReason))
		}
		if run.Status == runs.Failed || run.Status == runs.Timeout {
			t.fails(span, run.Status, errors.New(run.Error))
		}
		span.End()
	}
}

// agent returns the name of the agent that a run is made for.
func (t *Tracer) agent(run store.Run) string {
	var meta struct {
		Kind string `json:"subagent_type"`
		Name string `json:"agent_name"`
	}
	_ = json.Unmarshal(run.Metadata, &meta) // missing fields stay empty
	return agent.Head(cmp.Or(meta.Kind, meta.Name, t.agents[run.AssistantID], run.AssistantID), 80)
}

// Model implements agent.Observer.
func (t *Tracer) Model(ctx context.Context, _ *agent.Turn, c *agent.ModelCall) {
	span := t.chat(ctx, c.Model, c.Began)
	if c.First > 0 {
		span.SetAttributes(attribute.Float64("gen_ai.response.time_to_first_chunk", c.First.Seconds()))
	}
	o := c.Request.Options
	if o.MaxTokens > 0 {
		span.SetAttributes(attribute.Int("gen_ai.request.max_tokens", o.MaxTokens))
	}
	if o.Temperature != nil {
		span.SetAttributes(attribute.Float64("gen_ai.request.temperature", *o.Temperature))
	}
	if m := c.Message; m != nil {
		span.SetAttributes(attribute.String("gen_ai.response.id", m.ID))
		if name, ok := m.Meta["model_name"].(string); ok {
			span.SetAttributes(attribute.String("gen_ai.response.model", name))
		}
		if why, ok := m.Meta["finish_reason"].(string); ok {
			span.SetAttributes(attribute.StringSlice("gen_ai.response.finish_reasons", []string{why}))
		}
		if m.Usage != nil {
			spent(span, *m.Usage)
		}
	}
	if t.content && span.IsRecording() {
		span.SetAttributes(t.contents(c)...)
	}
	if c.Err != nil {
		t.fails(span, "model_error", c.Err)
	}
	span.End(trace.WithTimestamp(c.Began.Add(c.Took)))
}

// Side exports a side call, such as one for a title.
func (t *Tracer) Side(ctx context.Context, purpose string, took time.Duration, u agent.Usage) {
	if !trace.SpanContextFromContext(ctx).IsValid() { // it belongs to no run
		return
	}
	now := time.Now()
	span := t.chat(ctx, u.Model, now.Add(-took))
	span.SetAttributes(attribute.String("fawn.purpose", purpose))
	spent(span, u)
	span.End(trace.WithTimestamp(now))
}

func (t *Tracer) chat(ctx context.Context, model string, began time.Time) trace.Span {
	_, span := t.tracer.Start(ctx, "chat "+model, trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(began),
		trace.WithAttributes(attribute.String("gen_ai.operation.name", "chat"),
			attribute.String("gen_ai.request.model", model), attribute.String("langsmith.span.kind", "llm")))
	return span
}

func spent(span trace.Span, u agent.Usage) {
	span.SetAttributes(attribute.Int("gen_ai.usage.input_tokens", u.Input),
		attribute.Int("gen_ai.usage.output_tokens", u.Output))
	if n := u.InputDetails["cache_read"]; n > 0 {
		span.SetAttributes(attribute.Int("gen_ai.usage.cache_read.input_tokens", n))
	}
	if u.Cost > 0 {
		span.SetAttributes(attribute.Float64("gen_ai.usage.cost", u.Cost),
			attribute.String("fawn.currency", u.Currency))
	}
}

// Tool implements agent.Observer.
func (t *Tracer) Tool(ctx context.Context, _ *agent.Turn, c agent.ToolCall,
	_ bool) (context.Context, func(agent.Result, error)) {
	name := agent.Head(c.Name, 80)
	ctx, span := t.tracer.Start(ctx, "execute_tool "+name, trace.WithAttributes(
		attribute.String("gen_ai.operation.name", "execute_tool"),
		attribute.String("gen_ai.tool.name", name),
		attribute.String("gen_ai.tool.type", "function"),
		attribute.String("gen_ai.tool.call.id", c.ID),
		attribute.String("langsmith.span.kind", "tool")))
	if t.content && span.IsRecording() {
		span.SetAttributes(attribute.String("gen_ai.tool.call.arguments", t.clean(string(c.Args), maxText)))
	}
	return ctx, func(r agent.Result, err error) {
		if t.content && span.IsRecording() {
			span.SetAttributes(attribute.String("gen_ai.tool.call.result", t.clean(r.Content.String(), maxText)))
		}
		switch {
		case err != nil:
			t.fails(span, "tool_error", err)
		case r.IsError: // the error's text is content
			span.SetAttributes(attribute.String("error.type", "tool_error"))
			span.SetStatus(codes.Error, "")
		}
		span.End()
	}
}

// fails marks a span as failed. Without content only the kind of failure is exported, since an error's text may quote
// the prompt.
func (t *Tracer) fails(span trace.Span, kind string, err error) {
	var named interface{ ErrorName() string }
	if errors.As(err, &named) {
		kind = named.ErrorName()
	}
	span.SetAttributes(attribute.String("error.type", kind))
	text := ""
	if t.content {
		text = t.clean(err.Error(), 1000)
	}
	span.SetStatus(codes.Error, text)
}
