package traceexport

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	res "go.opentelemetry.io/proto/slim/otlp/resource/v1"
	otlp "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Time limit and number of attempts for a batch.
const (
	exportTime = 10 * time.Second
	attempts   = 3
	complain   = time.Minute // at most one line of the log in that time
)

// Target is a collector that takes OTLP as protobuf over HTTP.
type Target struct {
	Name    string // for the log
	URL     string // address of the collector
	Headers map[string]string
}

// exporter sends spans to one target. The SDK's own exporter would link all of gRPC.
type exporter struct {
	target Target
	client *http.Client
	log    *slog.Logger

	mu   sync.Mutex
	told time.Time
}

func newExporter(t Target, log *slog.Logger) *exporter {
	return &exporter{target: t, log: log, client: &http.Client{Timeout: exportTime,
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConns: 1, IdleConnTimeout: time.Minute},
		CheckRedirect: func(*http.Request, []*http.Request) error { // keys stay with the host they are for
			return http.ErrUseLastResponse
		}}}
}

// Shutdown implements sdk.SpanExporter.
func (e *exporter) Shutdown(context.Context) error {
	e.client.CloseIdleConnections()
	return nil
}

// ExportSpans implements sdk.SpanExporter.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	body, err := proto.Marshal(request(spans))
	if err != nil {
		return fmt.Errorf("encode spans: %w", err)
	}
	for try := 1; ; try++ {
		again, err := Post(ctx, e.client, e.target, body)
		if err == nil {
			return nil
		}
		if again && try < attempts {
			select {
			case <-time.After(time.Duration(try) * time.Second):
				continue
			case <-ctx.Done():
			}
		}
		e.failed(err, len(spans))
		return nil // already reported; the SDK would only repeat it
	}
}

func (e *exporter) failed(err error, n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if time.Since(e.told) < complain {
		return
	}
	e.told = time.Now()
	e.log.Warn("couldn't send traces", "to", e.target.Name, "spans", n, "err", err)
}

// Post sends one request to a target. An empty body is a request without spans, which checks whether the target is
// reachable and accepts the key. again means that a retry may succeed.
func Post(ctx context.Context, client *http.Client, t Target, body []byte) (again bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.URL, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	for name, v := range t.Headers {
		req.Header.Set(name, v)
	}
	answer, err := client.Do(req)
	if err != nil {
		return true, err
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 1000)) // the rest is not worth a line
	if answer.StatusCode/100 == 2 {
		return false, nil
	}
	again = answer.StatusCode == http.StatusTooManyRequests || answer.StatusCode >= 502
	return again, fmt.Errorf("%s answered %s: %.200q", t.URL, answer.Status, text)
}

// request returns the request to a collector.
func request(spans []sdk.ReadOnlySpan) *collector.ExportTraceServiceRequest {
	out := &otlp.ResourceSpans{}
	scope := &otlp.ScopeSpans{}
	for _, s := range spans {
		if out.Resource == nil {
			out.Resource = &res.Resource{Attributes: attributes(s.Resource().Attributes())}
			scope.Scope = &common.InstrumentationScope{Name: s.InstrumentationScope().Name,
				Version: s.InstrumentationScope().Version}
		}
		scope.Spans = append(scope.Spans, span(s))
	}
	out.ScopeSpans = []*otlp.ScopeSpans{scope}
	return &collector.ExportTraceServiceRequest{ResourceSpans: []*otlp.ResourceSpans{out}}
}

func span(s sdk.ReadOnlySpan) *otlp.Span {
	trace, id := s.SpanContext().TraceID(), s.SpanContext().SpanID()
	out := &otlp.Span{TraceId: trace[:], SpanId: id[:], TraceState: s.SpanContext().TraceState().String(),
		Name: s.Name(), Kind: otlp.Span_SpanKind(s.SpanKind()), StartTimeUnixNano: uint64(s.StartTime().UnixNano()),
		EndTimeUnixNano: uint64(s.EndTime().UnixNano()), Attributes: attributes(s.Attributes()),
		DroppedAttributesCount: uint32(s.DroppedAttributes()), Flags: uint32(s.SpanContext().TraceFlags())}
	if s.Parent().HasSpanID() {
		parent := s.Parent().SpanID()
		out.ParentSpanId = parent[:]
	}
	switch s.Status().Code {
	case codes.Ok:
		out.Status = &otlp.Status{Code: otlp.Status_STATUS_CODE_OK}
	case codes.Error:
		out.Status = &otlp.Status{Code: otlp.Status_STATUS_CODE_ERROR, Message: s.Status().Description}
	}
	return out
}

func attributes(list []attribute.KeyValue) []*common.KeyValue {
	out := make([]*common.KeyValue, 0, len(list))
	for _, a := range list {
		out = append(out, &common.KeyValue{Key: string(a.Key), Value: value(a.Value)})
	}
	return out
}

func value(v attribute.Value) *common.AnyValue {
	switch v.Type() {
	case attribute.BOOL:
		return &common.AnyValue{Value: &common.AnyValue_BoolValue{BoolValue: v.AsBool()}}
	case attribute.INT64:
		return &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: v.AsInt64()}}
	case attribute.FLOAT64:
		return &common.AnyValue{Value: &common.AnyValue_DoubleValue{DoubleValue: v.AsFloat64()}}
	case attribute.STRINGSLICE:
		list := &common.ArrayValue{}
		for _, s := range v.AsStringSlice() {
			list.Values = append(list.Values, &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: s}})
		}
		return &common.AnyValue{Value: &common.AnyValue_ArrayValue{ArrayValue: list}}
	}
	return &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: v.String()}}
}
