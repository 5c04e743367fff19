package llmerr_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"fawn/agent/llm/llmerr"
)

func TestEveryFailureHasItsClass(t *testing.T) {
	for _, c := range []struct {
		status    int
		code, msg string
		wait      time.Duration
		want      string
		again     bool
	}{
		{429, "insufficient_quota", "You exceeded your current quota", 0, llmerr.ClassQuota, false},
		{429, "insufficient_quota", "You exceeded your current quota", 3 * time.Second, llmerr.ClassQuota, false},
		{429, "RESOURCE_EXHAUSTED", "Quota exceeded for requests per minute", 20 * time.Second, llmerr.ClassBurst, true},
		{429, "RESOURCE_EXHAUSTED", "Quota exceeded", 0, llmerr.ClassQuota, false},
		{402, "", "pay", 0, llmerr.ClassQuota, false},
		{400, "Arrearage", "Access denied, account overdue", 0, llmerr.ClassQuota, false},
		{403, "", "账户余额不足", 0, llmerr.ClassQuota, false},
		{401, "", "no", 0, llmerr.ClassAuth, false},
		{403, "", "no", 0, llmerr.ClassAuth, false},
		{400, "", "Invalid API key", 0, llmerr.ClassAuth, false},
		{429, "", "slow", 0, llmerr.ClassBurst, true},
		{0, "rate_limit_exceeded", "", 0, llmerr.ClassBurst, true},
		{400, "context_length_exceeded", "", 0, llmerr.ClassContext, false},
		{413, "", "input is too long for this model", 0, llmerr.ClassContext, false},
		{500, "", "", 0, llmerr.ClassBusy, true},
		{408, "", "", 0, llmerr.ClassBusy, true},
		{529, "overloaded_error", "", 0, llmerr.ClassBusy, true},
		{0, "", "当前服务繁忙，请稍后再试", 0, llmerr.ClassBusy, true},
		{404, "", "model not found", 0, llmerr.ClassInvalid, false},
		{422, "", "bad field", 0, llmerr.ClassInvalid, false},
		{0, "", "strange", 0, llmerr.ClassGeneric, false},
		{501, "", "not implemented", 0, llmerr.ClassGeneric, false},
	} {
		got := llmerr.Classify(c.status, c.code, c.msg, c.wait)
		if got != c.want || (&llmerr.Error{Class: got}).Retriable() != c.again {
			t.Errorf("%d %q %q is %s, want %s", c.status, c.code, c.msg, got, c.want)
		}
	}
}

func TestARefusalOfToolsIsKnown(t *testing.T) {
	for _, c := range []struct {
		status  int
		message string
		want    bool
	}{
		{400, "registry.ollama.ai/library/gemma:2b does not support tools", true},
		{400, `"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set`, true},
		{404, "No endpoints found that support tool use. Try disabling \"ls\".", true},
		{500, "tools param requires --jinja flag", true},
		{400, "Function calling is not enabled for this model", true},
		{400, "Invalid schema for function 'ls': tools[0] is not an object", false},
		{429, "does not support tools", false},
		{400, "this model does not support images", false},
	} {
		e := &llmerr.Error{Status: c.status, Message: c.message, Class: llmerr.Classify(c.status, "", c.message, 0)}
		if e.RefusesTools() != c.want {
			t.Errorf("%d %q is %v", c.status, c.message, !c.want)
		}
	}
}

func TestRetryAfterIsReadInEveryForm(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for in, want := range map[string]time.Duration{
		"Retry-After: 7": 7 * time.Second, "Retry-After: 0.5": 500 * time.Millisecond,
		"Retry-After-Ms: 1200": 1200 * time.Millisecond, "Retry-After: Fri, 02 Jan 2026 03:04:35 GMT": 30 * time.Second,
		"Retry-After: Fri, 02 Jan 2026 03:04:00 GMT": 0, "Retry-After: soon": 0, "Retry-After: -3": 0, "X: 1": 0,
		"Retry-After: 1e30": 0,
	} {
		k, v, _ := strings.Cut(in, ": ")
		if got := llmerr.RetryAfter(http.Header{http.CanonicalHeaderKey(k): {v}}, now); got != want {
			t.Errorf("%s is %s, want %s", in, got, want)
		}
	}
}

func TestErrorIsFoundInsideOthersAndSaysOneLine(t *testing.T) {
	e := &llmerr.Error{Status: 401, Class: llmerr.ClassAuth, Message: "bad key sk-12345678"}
	wrapped := fmt.Errorf("model step: %w", e.Redact([]string{"sk-12345678", ""}))
	if llmerr.Of(wrapped) != e || llmerr.Of(errors.New("x")) != nil {
		t.Error("not found")
	}
	if got := wrapped.Error(); got != "model step: the model provider answered 401: bad key ***" {
		t.Errorf("says %q", got)
	}
	idle := &llmerr.Error{Class: llmerr.ClassNetwork, Err: llmerr.ErrIdle}
	if !errors.Is(idle, llmerr.ErrIdle) || idle.Error() != "the model call failed: the provider stopped responding" {
		t.Errorf("says %q", idle)
	}
}

func FuzzParseBody(f *testing.F) {
	for _, s := range []string{`{"error":{"message":"m","code":429,"type":"t","metadata":{"raw":"r"}}}`,
		`{"error":"x"}`, `[{"error":{"message":["a","b"]}}]`, `{"detail":{"x":1}}`, `<html>`, "\xff", `{"error":{}}`,
		`{"message":null}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		d := llmerr.ParseBody(body)
		if len(d.Message) > 8100 || !utf8.ValidString(d.Message) ||
			d.Status != 0 && (d.Status < 400 || d.Status > 599) {
			t.Fatalf("%+v", d)
		}
		if strings.TrimSpace(string(body)) != "" && d.Message == "" {
			t.Fatalf("nothing said about %q", body)
		}
	})
}
