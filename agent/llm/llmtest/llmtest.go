// Package llmtest is the conformance suite of model adapters: real provider responses, including broken ones, with the
// expected results.
package llmtest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"fawn/agent"
	"fawn/agent/llm/llmerr"
)

// Key is the API key a model under test must be given.
const Key = "sk-test-0123456789abcdef"

// Idle timeouts of models under test, and test timeouts.
const (
	short    = 3 * time.Second // if the provider falls silent
	patience = time.Minute     // if it answers: a busy machine may be silent, too
)

// answer is a recorded answer of a provider.
type answer struct {
	status  int
	headers map[string]string
	pieces  []string // flushed one by one
	hang    bool     // keep the connection open after the last piece
}

// want is the expected result.
type want struct {
	text, reasoning string
	calls           []agent.ToolCall // "" as ID: any id that is not empty
	finish, model   string
	usage           *agent.Usage
	kwargs          func(t *testing.T, m *agent.Message)
	err             *llmerr.Error // Status, Class, Message (a part of it) and RetryAfter are compared
	cause           error
}

// Suite checks that the model which open returns for a server's base URL and an idle timeout reads all of it.
// The model must use [Key].
func Suite(t *testing.T, open func(url string, idle time.Duration) agent.Model) {
	for _, c := range append(streams(), failures()...) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			idle := patience
			if c.hang {
				idle = short
			}
			check(t, open(serve(t, c.answer), idle), c.want)
		})
	}
	t.Run("StopsWhenTheReaderStops", func(t *testing.T) {
		t.Parallel()
		gone := make(chan struct{})
		url := server(t, func(w http.ResponseWriter, r *http.Request) {
			defer close(gone)
			write(w, answer{pieces: []string{text("one"), text("two")}})
			<-r.Context().Done()
		})
		for k, err := range open(url, patience).Stream(t.Context(), hello()) {
			if err != nil || k.Text != "one" {
				t.Fatalf("first chunk %q, %v", k.Text, err)
			}
			break
		}
		await(t, gone, "the provider was not told that nobody reads any more")
	})
	t.Run("CancelGivesTheCause", func(t *testing.T) {
		t.Parallel()
		cause := errors.New("the user pressed stop")
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		url := serve(t, answer{pieces: []string{text("partial")}, hang: true})
		var seen string
		var last error
		for k, err := range open(url, patience).Stream(ctx, hello()) {
			if last = err; err == nil {
				seen += k.Text
				cancel(cause)
			}
		}
		if seen != "partial" || !errors.Is(last, cause) {
			t.Errorf("got %q and %v", seen, last)
		}
	})
	t.Run("UnreachableIsANetworkError", func(t *testing.T) {
		t.Parallel()
		const url = "http://127.0.0.1:1" // no program listens on this port, and the system never assigns it
		check(t, open(url, patience), want{err: &llmerr.Error{Class: llmerr.ClassNetwork, Message: "refused"}})
	})
}

func hello() *agent.Request {
	return &agent.Request{System: "be kind",
		Messages: []*agent.Message{{ID: "h", Type: agent.TypeHuman, Content: agent.Text("hello")}}}
}

// check runs one call and compares.
func check(t *testing.T, m agent.Model, w want) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	got, err := agent.Collect("m1", m.Stream(ctx, hello()))
	if got.Content.String() != w.text {
		t.Errorf("text %q, want %q", got.Content.String(), w.text)
	}
	if r, _ := got.Kwargs["reasoning_content"].(string); r != w.reasoning {
		t.Errorf("reasoning %q, want %q", r, w.reasoning)
	}
	if w.err != nil {
		checkError(t, err, w)
		return
	}
	if err != nil {
		t.Fatalf("failed: %v", err)
	}
	checkCalls(t, got, w.calls)
	if f, _ := got.Meta["finish_reason"].(string); w.finish != "" && f != w.finish {
		t.Errorf("finish %q, want %q", f, w.finish)
	}
	if name, _ := got.Meta["model_name"].(string); w.model != "" && name != w.model {
		t.Errorf("model %q, want %q", name, w.model)
	}
	if w.usage != nil {
		checkUsage(t, got.Usage, w.usage)
	}
	if w.kwargs != nil {
		w.kwargs(t, got)
	}
}

func checkError(t *testing.T, err error, w want) {
	t.Helper()
	e := llmerr.Of(err)
	if e == nil {
		t.Fatalf("error %v is no provider error", err)
	}
	if e.Status != w.err.Status || e.Class != w.err.Class || e.RetryAfter != w.err.RetryAfter {
		t.Errorf("error is %d %s %s, want %d %s %s", e.Status, e.Class, e.RetryAfter, w.err.Status, w.err.Class,
			w.err.RetryAfter)
	}
	if !strings.Contains(e.Message, w.err.Message) {
		t.Errorf("message %q does not hold %q", e.Message, w.err.Message)
	}
	if strings.Contains(err.Error(), Key) {
		t.Errorf("the key shows in %q", err)
	}
	if w.cause != nil && !errors.Is(err, w.cause) {
		t.Errorf("%v is not %v", err, w.cause)
	}
}

func checkCalls(t *testing.T, got *agent.Message, want []agent.ToolCall) {
	t.Helper()
	if len(got.Invalid) != 0 || len(got.ToolCalls) != len(want) {
		t.Fatalf("calls %+v and invalid %+v, want %+v", got.ToolCalls, got.Invalid, want)
	}
	ids := map[string]bool{}
	for i, c := range got.ToolCalls {
		if c.Name != want[i].Name || string(c.Args) != string(want[i].Args) || want[i].ID != "" && c.ID != want[i].ID {
			t.Errorf("call %d is %s %s %s, want %+v", i, c.ID, c.Name, c.Args, want[i])
		}
		if c.ID == "" || ids[c.ID] {
			t.Errorf("call %d has the id %q, which is empty or taken", i, c.ID)
		}
		ids[c.ID] = true
	}
}

func checkUsage(t *testing.T, got, want *agent.Usage) {
	t.Helper()
	a, errA := agent.Encode(got)
	b, errB := agent.Encode(want)
	if errA != nil || errB != nil || string(a) != string(b) {
		t.Errorf("usage %s, want %s", a, b)
	}
}

// serve starts a server that answers every call the same way, and returns its base URL.
func serve(t *testing.T, a answer) string {
	return server(t, func(w http.ResponseWriter, r *http.Request) {
		write(w, a)
		if a.hang {
			<-r.Context().Done()
		}
	})
}

func server(t *testing.T, h http.HandlerFunc) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			t.Errorf("read the request: %v", err)
		}
		if r.URL.Path != "/v1/chat/completions" || r.Header.Get("Authorization") != "Bearer "+Key {
			t.Errorf("%s with %q", r.URL.Path, r.Header.Get("Authorization"))
		}
		h(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func write(w http.ResponseWriter, a answer) {
	w.Header().Set("Content-Type", "text/event-stream")
	for k, v := range a.headers {
		w.Header().Set(k, v)
	}
	if a.status != 0 {
		w.WriteHeader(a.status)
	}
	flush := http.NewResponseController(w)
	for _, p := range a.pieces {
		if _, err := io.WriteString(w, p); err != nil {
			return
		}
		if flush.Flush() != nil {
			return
		}
	}
}

func await(t *testing.T, done <-chan struct{}, complaint string) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(patience):
		t.Error(complaint)
	}
}
