package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/llm/llmerr"
	"fawn/agent/llm/openai"
)

// responder answers at the Responses API with this body and keeps what it was sent.
func responder(t *testing.T, kind, body string) (url string, sent *map[string]any) {
	t.Helper()
	sent = &map[string]any{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/responses" {
			w.WriteHeader(http.StatusNotFound)
			io.WriteString(w, `{"error":{"message":"This model is only supported in v1/responses and not in v1/chat/completions.","code":null}}`)
			return
		}
		must.Report(t, json.NewDecoder(r.Body).Decode(sent))
		w.Header().Set("Content-Type", kind)
		io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return s.URL, sent
}

const events = "text/event-stream"

func data(lines ...string) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString("data: " + l + "\n\n")
	}
	return b.String()
}

const half = `{"type":"response.output_text.delta","output_index":0,"delta":"half"}`

func TestEndingsOfTheResponsesAPI(t *testing.T) {
	for name, c := range map[string]struct {
		kind, body string
		text       string
		finish     string
		class      string // of the failure
		says       string
	}{
		"completed": {events, data(half, `{"type":"response.completed","response":{"status":"completed","output":[]}}`), "half", "stop", "", ""},
		"limit":     {events, data(half, `{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}}`), "half", "length", "", ""},
		"filter":    {events, data(half, `{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"content_filter"}}}`), "half", "content_filter", "", ""},
		"refusal":   {events, data(`{"type":"response.refusal.delta","output_index":0,"delta":"No."}`, `{"type":"response.completed","response":{"status":"completed"}}`), "No.", "stop", "", ""},
		"only done": {events, data(`{"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[{"type":"output_text","text":"whole"}]}}`, `{"type":"response.completed","response":{"status":"completed"}}`), "whole", "stop", "", ""},
		"not a stream": {"application/json",
			`{"status":"completed","model":"m","output":[{"type":"reasoning","summary":[{"text":"why"}]},{"type":"message","content":[{"type":"output_text","text":"whole"}]}],"usage":{"input_tokens":1,"output_tokens":2}}`,
			"whole", "stop", "", ""},
		"failed":        {events, data(half, `{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"it broke"}}}`), "half", "", llmerr.ClassBusy, "it broke"},
		"rate limit":    {events, data(`{"type":"error","code":"rate_limit_exceeded","message":"slow down","param":null}`), "", "", llmerr.ClassBurst, "slow down"},
		"error of old":  {events, data(`{"error":{"message":"overloaded"}}`), "", "", llmerr.ClassBusy, "overloaded"},
		"broken":        {events, data(half, `{"type":`), "half", "", llmerr.ClassNetwork, "broken event"},
		"no last event": {events, data(half), "half", "", llmerr.ClassNetwork, "before the answer was complete"},
		"only [DONE]":   {events, data(half, "[DONE]"), "half", "", llmerr.ClassNetwork, "before the answer was complete"},
		"page":          {"text/html", "<html>hello</html>", "", "", llmerr.ClassInvalid, "base_url"},
		"error as JSON": {"application/json", `{"error":{"message":"try again later"}}`, "", "", llmerr.ClassBusy, "try again later"},
		"an empty last": {events, data(half, `{"type":"response.completed"}`), "half", "", llmerr.ClassNetwork, "without the answer"},
	} {
		t.Run(name, func(t *testing.T) {
			url, _ := responder(t, c.kind, c.body)
			m := open(t, openai.Config{BaseURL: url, Responses: true})
			got, err := agent.Collect("m", m.Stream(t.Context(), &agent.Request{Messages: []*agent.Message{say("hi")}}))
			if got.Content.Text != c.text {
				t.Errorf("text %q, want %q", got.Content.Text, c.text)
			}
			if c.class == "" {
				if err != nil || got.Meta["finish_reason"] != c.finish {
					t.Errorf("%v, ends with %v, want %s", err, got.Meta["finish_reason"], c.finish)
				}
				return
			}
			if e := llmerr.Of(err); e == nil || e.Class != c.class || !strings.Contains(e.Message, c.says) {
				t.Errorf("fails with %v, want %s %q", err, c.class, c.says)
			}
		})
	}
}

// TestAModelOfTheResponsesAPIIsFoundOut by what its provider says about the other one.
func TestAModelOfTheResponsesAPIIsFoundOut(t *testing.T) {
	url, sent := responder(t, events, data(half, `{"type":"response.completed","response":{"status":"completed"}}`))
	m := open(t, openai.Config{Model: "gpt-next", BaseURL: url, MaxTokens: 9, Effort: true})
	image := agent.Content{Blocks: []json.RawMessage{json.RawMessage(`{"type":"text","text":"see"}`),
		json.RawMessage(`{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}`)}}
	list := append(history("c1"), &agent.Message{Type: agent.TypeHuman, Content: image})
	for range 2 {
		got, err := agent.Collect("m",
			m.Stream(t.Context(),
				&agent.Request{System: "sys", Messages: list, Options: agent.ModelOptions{Effort: "low"}}))
		if err != nil || got.Content.Text != "half" {
			t.Fatalf("%v, %q", err, got.Content.Text)
		}
	}
	raw := must.Get(json.Marshal(*sent))(t)
	want := `{"include":["reasoning.encrypted_content"],"input":[{"content":"one","role":"user"},{"content":"first","role":"assistant"},{"content":"two","role":"user"},` +
		`{"arguments":"{}","call_id":"c1","name":"ls","type":"function_call"},{"call_id":"c1","output":"x","type":"function_call_output"},{"content":"second","role":"assistant"},{"content":"three","role":"user"},` +
		`{"content":[{"text":"see","type":"input_text"},{"image_url":"data:image/png;base64,AA==","type":"input_image"}],"role":"user"}],"instructions":"sys","max_output_tokens":9,"model":"gpt-next","reasoning":{"effort":"low"},"store":false,"stream":true}`
	if string(raw) != want {
		t.Errorf("sent %s\nwant %s", raw, want)
	}
}

func TestSilenceAndStopAtTheResponsesAPI(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		w.Header().Set("Content-Type", events)
		io.WriteString(w, data(half))
		if http.NewResponseController(w).Flush() == nil {
			<-r.Context().Done()
		}
	}))
	defer s.Close()
	_, err := agent.Collect("m",
		open(t, openai.Config{BaseURL: s.URL, Responses: true, IdleTimeout: 50 * time.Millisecond}).Stream(t.Context(),
			&agent.Request{Messages: []*agent.Message{say("x")}}))
	if !errors.Is(err, llmerr.ErrIdle) {
		t.Errorf("silence is %v", err)
	}
	cause := errors.New("stopped by a person")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var last error
	for k, err := range open(t, openai.Config{BaseURL: s.URL, Responses: true}).Stream(ctx,
		&agent.Request{Messages: []*agent.Message{say("x")}}) {
		if last = err; k.Text != "" {
			cancel(cause)
		}
	}
	if !errors.Is(last, cause) {
		t.Errorf("a stop is %v", last)
	}
}
