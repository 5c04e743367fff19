package anthropic_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/llm/anthropic"
	"fawn/agent/llm/llmerr"
)

const begin = `data: {"type":"message_start","message":{"model":"m","usage":{"input_tokens":1}}}` + "\n\n" +
	`data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"half an "}}` + "\n\n"

// TestFailuresHaveTheirClass: each ends with an error of the right class and in the provider's own
// words, the key replaced; what was seen before stays.
func TestFailuresHaveTheirClass(t *testing.T) {
	t.Parallel()
	problem := func(kind, text string) string {
		return `{"type":"error","error":{"type":"` + kind + `","message":"` + text + `"}}`
	}
	for _, c := range []struct {
		name   string
		status int
		kind   string
		body   string
		class  string
		words  string
		text   string
		cause  error
	}{
		{"overloaded", 529, "", problem("overloaded_error", "Overloaded"), llmerr.ClassBusy, "Overloaded", "", nil},
		{"internal", 500, "", problem("api_error", "Internal server error"), llmerr.ClassBusy, "Internal server error", "", nil},
		{"rate limit", 429, "", problem("rate_limit_error", "This request would exceed your rate limit"), llmerr.ClassBurst, "exceed your rate limit", "", nil},
		{"wrong key", 401, "", problem("authentication_error", "invalid x-api-key "+key), llmerr.ClassAuth, "invalid x-api-key ***", "", nil},
		{"not allowed", 403, "", problem("permission_error", "no access"), llmerr.ClassAuth, "no access", "", nil},
		{"no credit", 400, "", problem("invalid_request_error", "Your credit balance is too low to access the Anthropic API."), llmerr.ClassQuota, "credit balance", "", nil},
		{"too long", 400, "", problem("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"), llmerr.ClassContext, "prompt is too long", "", nil},
		{"refused", 400, "", problem("invalid_request_error", "max_tokens: must be at least 1"), llmerr.ClassInvalid, "max_tokens", "", nil},
		{"no such model", 404, "", problem("not_found_error", "model: claude-none"), llmerr.ClassInvalid, "claude-none", "", nil},
		{"too large", 413, "", problem("request_too_large", "Request exceeds the maximum size"), llmerr.ClassInvalid, "maximum size", "", nil},
		{"proxy page", 502, "text/html", "<html>Bad Gateway</html>", llmerr.ClassBusy, "Bad Gateway", "", nil},
		{"web page", 200, "text/html", "<html>Welcome</html>", llmerr.ClassInvalid, "base_url", "", nil},
		{"error as an answer", 200, "application/json", problem("overloaded_error", "Overloaded"), llmerr.ClassBusy, "Overloaded", "", nil},
		{"error in the middle", 200, "", begin + "event: error\ndata: " + problem("overloaded_error", "Overloaded") + "\n\n", llmerr.ClassBusy, "Overloaded", "half an ", nil},
		{"error without its name", 200, "", begin + "data: " + problem("api_error", "server_error") + "\n\n", llmerr.ClassBusy, "server_error", "half an ", nil},
		{"cut off", 200, "", begin, llmerr.ClassNetwork, "before the answer was complete", "half an ", llmerr.ErrCut},
		{"end without a reason", 200, "", begin + "data: {\"type\":\"message_stop\"}\n\n", llmerr.ClassNetwork, "without a reason", "half an ", llmerr.ErrCut},
		{"broken event", 200, "", begin + "data: {\"type\":\"content_bl\n\ndata: {}\n\n", llmerr.ClassNetwork, "broken event", "half an ", llmerr.ErrGarbled},
		{"nothing", 200, "", "", llmerr.ClassNetwork, "before the answer was complete", "", llmerr.ErrCut},
		{"empty answer", 200, "", "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n", llmerr.ClassBusy, "empty answer", "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int32
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				calls.Add(1)
				if c.kind == "" {
					c.kind = "text/event-stream"
				}
				w.Header().Set("Content-Type", c.kind)
				w.Header().Set("Retry-After", "3")
				w.WriteHeader(c.status)
				io.WriteString(w, c.body)
			}))
			defer s.Close()
			got, err := agent.Collect("m", open(t, anthropic.Config{BaseURL: s.URL}).Stream(t.Context(), hello()))
			e := llmerr.Of(err)
			if e == nil || e.Class != c.class || !strings.Contains(e.Error(), c.words) || got.Content.Text != c.text ||
				c.cause != nil && !errors.Is(err, c.cause) {
				t.Fatalf("%q, %v (%+v)", got.Content.Text, err, e)
			}
			if n := calls.Load(); n != 1 {
				t.Errorf("called %d times: whether to try again is not for this layer to say", n)
			}
			if c.status >= 400 && (e.Status != c.status || e.RetryAfter != 3*time.Second) {
				t.Errorf("status %d, wait %s", e.Status, e.RetryAfter)
			}
		})
	}
}

func TestTheKeyDoesNotFollowARedirect(t *testing.T) {
	t.Parallel()
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("called: %v", r.Header)
	}))
	defer thief.Close()
	s := httptest.NewServer(http.RedirectHandler(thief.URL+"/v1/messages", http.StatusTemporaryRedirect))
	defer s.Close()
	_, err := agent.Collect("m", open(t, anthropic.Config{BaseURL: s.URL}).Stream(t.Context(), hello()))
	if e := llmerr.Of(err); e == nil || e.Status != 307 || !strings.Contains(e.Message, thief.URL) {
		t.Error(err)
	}
}

func TestSilenceEndsTheCall(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Begin") != "" {
			io.WriteString(w, begin)
			must.Report(t, http.NewResponseController(w).Flush())
		}
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer s.Close()
	defer close(release)
	for name, c := range map[string]anthropic.Config{
		"before the answer": {Timeout: 50 * time.Millisecond},
		"inside it":         {IdleTimeout: 50 * time.Millisecond, Headers: map[string]string{"X-Begin": "1"}},
	} {
		c.BaseURL = s.URL
		_, err := agent.Collect("m", open(t, c).Stream(t.Context(), hello()))
		e := llmerr.Of(err)
		if !errors.Is(err, llmerr.ErrIdle) || e.Class != llmerr.ClassNetwork ||
			!strings.Contains(e.Message, "sent nothing for 50ms") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCancelGivesTheCauseAndStoppingEndsTheCall(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{}, 2)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, begin)
		must.Report(t, http.NewResponseController(w).Flush())
		<-r.Context().Done()
		gone <- struct{}{}
	}))
	defer s.Close()
	m := open(t, anthropic.Config{BaseURL: s.URL})
	cause := errors.New("the user pressed stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var last error
	for _, err := range m.Stream(ctx, hello()) {
		if last = err; err == nil {
			cancel(cause)
		}
	}
	if !errors.Is(last, cause) {
		t.Error(last)
	}
	for k, err := range m.Stream(t.Context(), hello()) {
		if err != nil || k.Text != "half an " || k.Model != "m" {
			t.Errorf("%+v %v", k, err)
		}
		break
	}
	for range 2 {
		select {
		case <-gone:
		case <-time.After(time.Minute):
			t.Fatal("the provider was not told that nobody reads any more")
		}
	}
}

func TestUnreachableIsANetworkError(t *testing.T) {
	t.Parallel()
	const url = "http://127.0.0.1:1" // no program asks for this port, and the system gives it to none
	_, err := agent.Collect("m", open(t, anthropic.Config{BaseURL: url}).Stream(t.Context(), hello()))
	if e := llmerr.Of(err); e == nil || e.Class != llmerr.ClassNetwork || !strings.Contains(e.Message, "refused") {
		t.Error(err)
	}
}

// TestTheEnvironmentIsNotRead here: keys are given to models by their entries, and only to their own addresses.
func TestTheEnvironmentIsNotRead(t *testing.T) {
	t.Setenv("ANTHROPIC_AUTH_TOKEN", "of-the-environment")
	t.Setenv("ANTHROPIC_API_KEY", "of-the-environment")
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
	p := serve(t, file(t, "answer.sse"))
	m := must.Get(anthropic.New(anthropic.Config{Model: "m", BaseURL: p.url + "/v1/messages?tenant=a"}))(t)
	must.Get(agent.Collect("m", m.Stream(t.Context(), hello())))(t)
	if h := p.head[0]; h.Get("Authorization") != "" || h.Get("X-Api-Key") != "" || p.query[0] != "tenant=a" {
		t.Errorf("%v %q", h, p.query)
	}
}
