package llm_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/llm"
)

const nativeAnswer = "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"ready\"}}\n\n" +
	"data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":1}}\n\ndata: {\"type\":\"message_stop\"}\n\n"

// native is a server with Anthropic's API, and what it was asked last.
func native(t *testing.T) (url string, head *http.Header, body *map[string]any) {
	t.Helper()
	head, body = &http.Header{}, &map[string]any{}
	var mu sync.Mutex // several may ask at once
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if strings.HasPrefix(r.URL.Path, "/v1/") {
			*head = r.Header
		}
		switch r.URL.Path {
		case "/v1/messages":
			*body = nil
			must.Report(t, json.NewDecoder(r.Body).Decode(body))
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, nativeAnswer)
		case "/v1/models":
			io.WriteString(w, `{"data":[{"type":"model","id":"claude-test-1","max_input_tokens":200000}]}`)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, head, body
}

func TestNativeModelsAreSetUpAsInDeerFlow(t *testing.T) {
	url, head, body := native(t)
	ask := func(cfg llm.Config, o agent.ModelOptions) {
		t.Helper()
		cfg.Name, cfg.Use, cfg.BaseURL = "claude-test-1", "langchain_anthropic:ChatAnthropic", url
		m := must.Get(llm.New(cfg))(t)
		got, err := agent.Collect("m",
			m.Stream(t.Context(),
				&agent.Request{System: "s",
					Messages: []*agent.Message{{Type: agent.TypeHuman, Content: agent.Text("hi")}}, Options: o}))
		if err != nil || got.Content.Text != "ready" {
			t.Fatalf("%+v %v", got, err)
		}
	}
	thinking := func() any { return (*body)["thinking"] }
	ask(llm.Config{APIKey: "k"}, agent.ModelOptions{})
	if (*body)["model"] != "claude-test-1" || (*body)["max_tokens"] != 8192.0 || thinking() != nil ||
		head.Get("X-Api-Key") != "k" || head.Get("Authorization") != "" {
		t.Errorf("%v %v", *head, *body)
	}
	ask(llm.Config{SupportsThinking: true}, agent.ModelOptions{Thinking: true})
	if !reflect.DeepEqual(thinking(), map[string]any{"type": "enabled", "budget_tokens": 4096.0}) ||
		head.Get("X-Api-Key") != "" {
		t.Errorf("%v %v", *head, *body)
	}
	own := llm.Config{SupportsThinking: true, SupportsReasoningEffort: true,
		Thinking: map[string]any{"type": "adaptive"}, Headers: map[string]string{"X-Team": "a"},
		Extra: map[string]any{"betas": []any{"one", "two"}, "enable_prompt_caching": false, "top_p": 0.9,
			"max_retries": 2, "model_kwargs": map[string]any{"metadata": map[string]any{"user_id": "u"}}}}
	ask(own, agent.ModelOptions{Thinking: true, Effort: "high"})
	if !reflect.DeepEqual(thinking(), map[string]any{"type": "adaptive"}) ||
		!reflect.DeepEqual((*body)["output_config"], map[string]any{"effort": "high"}) ||
		head.Get("Anthropic-Beta") != "one,two" || head.Get("X-Team") != "a" || (*body)["top_p"] != 0.9 ||
		(*body)["betas"] != nil || (*body)["max_retries"] != nil ||
		!reflect.DeepEqual((*body)["metadata"], map[string]any{"user_id": "u"}) ||
		!reflect.DeepEqual((*body)["system"], []any{map[string]any{"type": "text", "text": "s"}}) {
		t.Errorf("%v %v", *head, *body)
	}
	ask(own, agent.ModelOptions{})
	if !reflect.DeepEqual(thinking(), map[string]any{"type": "disabled"}) || (*body)["reasoning_effort"] != nil {
		t.Errorf("thinking off: %v", *body)
	}
}

// TestNativeKeyOfTheEnvironmentGoesToItsOwnAddressOnly, which the environment may name.
func TestNativeKeyOfTheEnvironmentGoesToItsOwnAddressOnly(t *testing.T) {
	url, head, _ := native(t)
	t.Setenv("ANTHROPIC_API_KEY", "sk-ant-from-env")
	t.Setenv("ANTHROPIC_BASE_URL", url)
	for base, want := range map[string]string{"": "sk-ant-from-env", url + "/v1/messages": ""} {
		p := llm.Probe(t.Context(), llm.Config{Name: "claude-test-1", Use: "anthropic", BaseURL: base})
		if o, ok := p.Offer("claude-test-1"); !p.OK || p.Reply != "ready" || !ok || o.Context != 200_000 ||
			head.Get("X-Api-Key") != want {
			t.Errorf("%q: %+v, key %q", base, p, head.Get("X-Api-Key"))
		}
	}
}
