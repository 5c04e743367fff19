package openai_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/llm/llmerr"
	"fawn/agent/llm/openai"
)

// picky is a provider that refuses a body while it holds, or lacks, some words.
func picky(t *testing.T, refuses func(body string) string) (url string, bodies *[]string) {
	t.Helper()
	bodies = &[]string{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body json.RawMessage
		must.Report(t, json.NewDecoder(r.Body).Decode(&body))
		*bodies = append(*bodies, string(body))
		if why := refuses(string(body)); why != "" {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"error":{"message":%q}}`, why)
			return
		}
		w.Header().Set("Content-Type", events)
		fmt.Fprint(w, data(`{"choices":[{"index":0,"delta":{"content":"ok"},"finish_reason":"stop"}]}`, "[DONE]"))
	}))
	t.Cleanup(s.Close)
	return s.URL, bodies
}

func TestARefusedCallTeachesWhatTheProviderWants(t *testing.T) {
	having := func(words, why string) func(string) string {
		return func(body string) string {
			if strings.Contains(body, words) {
				return why
			}
			return ""
		}
	}
	lacking := func(words, why string) func(string) string {
		return func(body string) string {
			if !strings.Contains(body, words) {
				return why
			}
			return ""
		}
	}
	for name, c := range map[string]struct {
		dialect string
		cfg     openai.Config
		refuses func(string) string
		calls   int
	}{
		"the other limit":     {"compatible", openai.Config{MaxTokens: 5}, having(`"max_tokens"`, "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."), 2},
		"the limit of old":    {"openai", openai.Config{MaxTokens: 5}, having(`"max_completion_tokens"`, "Unrecognized request argument supplied: max_completion_tokens"), 2},
		"no counts":           {"compatible", openai.Config{}, having("stream_options", "extra_forbidden: body.stream_options, Extra inputs are not permitted"), 2},
		"no thinking field":   {"moonshot", openai.Config{ThinkingOn: map[string]any{"thinking": map[string]any{"type": "enabled"}}}, having(`"thinking"`, "Unknown parameter: thinking"), 2},
		"reasoning must come": {"compatible", openai.Config{}, lacking(`"reasoning_content":"why first"`, "The `reasoning_content` in the thinking mode must be passed back to the API."), 2},
		"reasoning missing":   {"compatible", openai.Config{}, lacking(`"reasoning_content":" "`, "thinking is enabled but reasoning_content is missing in assistant tool call message at index 3"), 2},
		"no reasoning at all": {"compatible-echo", openai.Config{}, having("reasoning_content", "property 'reasoning_content' is unsupported"), 2},
		"in turns":            {"compatible", openai.Config{}, having(`"three"},{`, "Conversation roles must alternate user/assistant/user/assistant/..."), 2},
		"several": {"compatible", openai.Config{MaxTokens: 5}, func(b string) string {
			return having("stream_options", "unknown field stream_options. ")(b) +
				having(`"max_tokens"`, "max_tokens is not supported")(b)
		}, 3},
		"as configured":        {"compatible", openai.Config{ExtraBody: map[string]any{"thinking": true}}, having("thinking", "Unknown parameter: thinking"), 0},
		"a part of a name":     {"moonshot", openai.Config{ThinkingOn: map[string]any{"thinking": map[string]any{"type": "enabled"}}}, having("thinking", "Unknown parameter: thinking_budget"), 0},
		"nothing to learn":     {"compatible", openai.Config{}, having("model", "model not supported"), 0},
		"refused all the same": {"compatible", openai.Config{}, having("model", "stream_options is not supported"), 0},
	} {
		t.Run(name, func(t *testing.T) {
			url, bodies := picky(t, c.refuses)
			c.cfg.Dialect, c.cfg.BaseURL, c.cfg.Lessons = named(t, c.dialect), url, &openai.Lessons{}
			req := &agent.Request{Messages: append(history("c1"), say("four")),
				Options: agent.ModelOptions{Thinking: true}}
			_, err := agent.Collect("m", open(t, c.cfg).Stream(t.Context(), req))
			if c.calls == 0 {
				if e := llmerr.Of(err); e == nil || e.Class != llmerr.ClassInvalid || len(*bodies) > 2 {
					t.Errorf("%v after %d calls", err, len(*bodies))
				}
				return
			}
			if err != nil || len(*bodies) != c.calls {
				t.Fatalf("%v after %d calls: %s", err, len(*bodies), (*bodies)[len(*bodies)-1])
			}
			_, err = agent.Collect("m", open(t, c.cfg).Stream(t.Context(), req))
			if err != nil || len(*bodies) != c.calls+1 {
				t.Errorf("the next model: %v after %d calls", err, len(*bodies)-c.calls)
			}
		})
	}
}
