package openai_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/llm/llmtest"
	"fawn/agent/llm/openai"
)

func open(t testing.TB, cfg openai.Config) *openai.Model {
	t.Helper()
	if cfg.Model == "" {
		cfg.Model = "test-model"
	}
	m := must.Get(openai.New(cfg))(t)
	return m
}

func TestSuite(t *testing.T) {
	llmtest.Suite(t, func(url string, idle time.Duration) agent.Model {
		return open(t, openai.Config{BaseURL: url, APIKey: llmtest.Key, IdleTimeout: idle})
	})
}

// sent makes one call and returns the request a provider would read.
func sent(t *testing.T, cfg openai.Config, req *agent.Request) (map[string]json.RawMessage, *http.Request) {
	t.Helper()
	var raw []byte
	var seen *http.Request
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ = io.ReadAll(r.Body)
		seen = r
		io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	defer s.Close()
	cfg.BaseURL = s.URL + cfg.BaseURL
	if m, err := agent.Collect("m", open(t, cfg).Stream(t.Context(), req)); err != nil || m.Content.Text != "ok" {
		t.Fatalf("call: %v", err)
	}
	var body map[string]json.RawMessage
	if err := json.Unmarshal(raw, &body); err != nil {
		t.Fatalf("body %s: %v", raw, err)
	}
	return body, seen
}

func say(text string) *agent.Message {
	return &agent.Message{Type: agent.TypeHuman, Name: "note", Content: agent.Text(text)}
}

func ptr[T any](v T) *T { return &v }

func TestBaseURLMayBeWrittenInEveryUsualWay(t *testing.T) {
	for in, want := range map[string]string{
		"":                           "/v1/chat/completions",
		"/":                          "/v1/chat/completions",
		"/v1":                        "/v1/chat/completions",
		"/v1/":                       "/v1/chat/completions",
		"/v1/chat/completions":       "/v1/chat/completions",
		"/v1beta/openai/":            "/v1beta/openai/chat/completions",
		"/api/v1?api-version=2":      "/api/v1/chat/completions?api-version=2",
		"/x/chat/completions?key=ab": "/x/chat/completions?key=ab",
	} {
		t.Run(in, func(t *testing.T) {
			_, r := sent(t, openai.Config{BaseURL: in}, &agent.Request{Messages: []*agent.Message{say("hi")}})
			if r.URL.String() != want {
				t.Errorf("called %s, want %s", r.URL, want)
			}
		})
	}
	for _, bad := range []string{"localhost:11434", "ftp://host/v1", "http://", "://"} {
		_, err := openai.New(openai.Config{Model: "m", BaseURL: bad})
		if err == nil || !strings.Contains(err.Error(), "base_url") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestRequestSaysWhatTheConfigurationSays(t *testing.T) {
	on := map[string]any{"thinking": map[string]any{"type": "enabled"}, "reasoning_effort": "high"}
	off := map[string]any{"thinking": map[string]any{"type": "disabled"}, "reasoning_effort": "minimal"}
	cases := map[string]struct {
		cfg  openai.Config
		opt  agent.ModelOptions
		want map[string]string // "" = absent
	}{
		"defaults":          {openai.Config{}, agent.ModelOptions{}, map[string]string{"model": `"test-model"`, "stream": "true", "stream_options": `{"include_usage":true}`, "temperature": "", "max_tokens": "", "tools": ""}},
		"temperature zero":  {openai.Config{Temperature: ptr(0.0)}, agent.ModelOptions{}, map[string]string{"temperature": "0"}},
		"call over config":  {openai.Config{Temperature: ptr(1.0), MaxTokens: 5}, agent.ModelOptions{Temperature: ptr(0.0), MaxTokens: 9}, map[string]string{"temperature": "0", "max_tokens": "9"}},
		"o-series limit":    {openai.Config{Model: "o4-mini", MaxTokens: 7, Temperature: ptr(0.5)}, agent.ModelOptions{}, map[string]string{"max_tokens": "", "max_completion_tokens": "7", "temperature": "0.5"}},
		"gpt-5 via router":  {openai.Config{Model: "openai/gpt-5", MaxTokens: 7}, agent.ModelOptions{}, map[string]string{"max_completion_tokens": "7"}},
		"extra body":        {openai.Config{ExtraBody: map[string]any{"top_k": 5, "stream_options": nil, "stream": false, "messages": "x"}}, agent.ModelOptions{}, map[string]string{"top_k": "5", "stream_options": "", "stream": "true"}},
		"thinking on":       {openai.Config{ThinkingOn: on, ThinkingOff: off, ExtraBody: map[string]any{"thinking": map[string]any{"budget": 3}}}, agent.ModelOptions{Thinking: true}, map[string]string{"thinking": `{"budget":3,"type":"enabled"}`, "reasoning_effort": `"high"`}},
		"effort of a call":  {openai.Config{ThinkingOn: on, Effort: true}, agent.ModelOptions{Thinking: true, Effort: "low"}, map[string]string{"reasoning_effort": `"low"`}},
		"effort not taken":  {openai.Config{}, agent.ModelOptions{Effort: "low"}, map[string]string{"reasoning_effort": ""}},
		"thinking off wins": {openai.Config{ThinkingOff: off, Effort: true}, agent.ModelOptions{Effort: "high"}, map[string]string{"reasoning_effort": `"minimal"`, "thinking": `{"type":"disabled"}`}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			body, _ := sent(t, c.cfg, &agent.Request{Messages: []*agent.Message{say("hi")}, Options: c.opt})
			for k, want := range c.want {
				if string(body[k]) != want {
					t.Errorf("%s is %s, want %s", k, body[k], want)
				}
			}
		})
	}
	if on["thinking"].(map[string]any)["budget"] != nil {
		t.Error("a call changed the configuration")
	}
}

// go-openai knows some names and refuses tools, limits or the whole call for them.
func TestNoModelIsRefusedBeforeTheProviderIsAsked(t *testing.T) {
	for _, name := range []string{"gpt-6-astra", "gpt-6.1-sol", "gpt-6-sol", "gpt-5-mini", "o1-preview",
		"text-davinci-003"} {
		req := &agent.Request{Messages: []*agent.Message{say("hi")},
			Tools: []*agent.Tool{
				{Name: "ls", Description: "list",
					Schema: json.RawMessage(`{"type":"object","additionalProperties":false}`)}, {Name: "bare"},
			}}
		body, _ := sent(t, openai.Config{Model: name, MaxTokens: 10, Temperature: ptr(0.3)}, req)
		want := `[{"function":{"name":"ls","description":"list","parameters":{"type":"object","additionalProperties":false}},"type":"function"},{"function":{"name":"bare","parameters":{"type":"object","properties":{}}},"type":"function"}]`
		if string(body["tools"]) != want {
			t.Errorf("%s: tools %s", name, body["tools"])
		}
	}
}

func TestHeadersAndKeyAreSent(t *testing.T) {
	_, r := sent(t, openai.Config{APIKey: "k-12345678", Headers: map[string]string{"X-Title": "fawn"}},
		&agent.Request{Messages: []*agent.Message{say("x")}})
	if r.Header.Get("Authorization") != "Bearer k-12345678" || r.Header.Get("X-Title") != "fawn" {
		t.Errorf("headers %v", r.Header)
	}
	_, r = sent(t, openai.Config{}, &agent.Request{Messages: []*agent.Message{say("x")}})
	if _, ok := r.Header["Authorization"]; ok {
		t.Error("an empty key was sent")
	}
}

func TestMessagesKeepTheirShape(t *testing.T) {
	blocks := func(raw ...string) agent.Content {
		var c agent.Content
		must.Do(t, json.Unmarshal([]byte("["+strings.Join(raw, ",")+"]"), &c))
		return c
	}
	calls := []agent.ToolCall{{ID: "c1", Name: "ls", Args: json.RawMessage(`{"path":"/"}`)}, {ID: "c2", Name: "pwd"}}
	cases := map[string]struct {
		msg  agent.Message
		echo bool
		want string
	}{
		"human":         {agent.Message{Type: agent.TypeHuman, Name: "summary", Content: agent.Text("<b> & ü")}, false, `{"role":"user","content":"<b> & ü"}`},
		"human, empty":  {agent.Message{Type: agent.TypeHuman}, false, `{"role":"user","content":""}`},
		"text blocks":   {agent.Message{Type: agent.TypeHuman, Content: blocks(`{"type":"text","text":"a"}`, `"b"`)}, false, `{"role":"user","content":"a\nb"}`},
		"image blocks":  {agent.Message{Type: agent.TypeHuman, Content: blocks(`{"type":"text","text":"see"}`, `{"type":"image_url","image_url":{"url":"data:image/png;base64,AA","detail":"low"}}`)}, false, `{"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA","detail":"low"}}]}`},
		"image string":  {agent.Message{Type: agent.TypeHuman, Content: blocks(`{"type":"image_url","image_url":"https://x/y.png"}`)}, false, `{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://x/y.png"}}]}`},
		"image base64":  {agent.Message{Type: agent.TypeHuman, Content: blocks(`{"type":"image","source":{"type":"base64","media_type":"image/jpeg","data":"QQ"}}`)}, false, `{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/jpeg;base64,QQ"}}]}`},
		"cache control": {agent.Message{Type: agent.TypeHuman, Content: blocks(`{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}`)}, false, `{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]}`},
		"result":        {agent.Message{Type: agent.TypeTool, Name: "ls", ToolCallID: "c1", Content: agent.Text("x")}, false, `{"role":"tool","tool_call_id":"c1","content":"x"}`},
		"empty result":  {agent.Message{Type: agent.TypeTool, ToolCallID: "c1"}, false, `{"role":"tool","tool_call_id":"c1","content":""}`},
		"answer":        {agent.Message{Type: agent.TypeAI, Content: agent.Text("yes"), Kwargs: map[string]any{"reasoning_content": "r", "reasoning_details": []any{}}}, false, `{"role":"assistant","content":"yes"}`},
		"echo":          {agent.Message{Type: agent.TypeAI, Content: agent.Text("yes"), Kwargs: map[string]any{"reasoning_content": "r", "reasoning_details": []any{map[string]any{"a": 1}}}}, true, `{"role":"assistant","content":"yes","reasoning_content":"r","reasoning_details":[{"a":1}]}`},
		"calls":         {agent.Message{Type: agent.TypeAI, ToolCalls: calls}, false, `{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"ls","arguments":"{\"path\":\"/\"}"}},{"id":"c2","type":"function","function":{"name":"pwd","arguments":"{}"}}]}`},
		"signed call":   {agent.Message{Type: agent.TypeAI, ToolCalls: calls[1:], Kwargs: map[string]any{"extra_content": map[string]any{"c2": map[string]any{"s": 1}}}}, false, `{"role":"assistant","content":null,"tool_calls":[{"id":"c2","type":"function","function":{"name":"pwd","arguments":"{}"},"extra_content":{"s":1}}]}`},
		"empty answer":  {agent.Message{Type: agent.TypeAI}, false, `{"role":"assistant","content":""}`},
		"system":        {agent.Message{Type: agent.TypeSystem, Content: agent.Text("s")}, false, `{"role":"system","content":"s"}`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			d := openai.Dialect{}
			if c.echo {
				d.Echo = openai.EchoAlways
			}
			body, _ := sent(t, openai.Config{Dialect: d},
				&agent.Request{System: "sys", Messages: []*agent.Message{&c.msg}})
			var got, want any
			must.Do(t, json.Unmarshal([]byte(`[{"role":"system","content":"sys"},`+c.want+`]`), &want))
			must.Do(t, json.Unmarshal(body["messages"], &got))
			a, _ := json.Marshal(got)
			b, _ := json.Marshal(want)
			if string(a) != string(b) {
				t.Errorf("sent %s\nwant %s", a, b)
			}
		})
	}
}

func TestNewNeedsAModelName(t *testing.T) {
	if _, err := openai.New(openai.Config{Name: "n"}); err == nil || !strings.Contains(err.Error(), `"n"`) {
		t.Errorf("got %v", err)
	}
}
