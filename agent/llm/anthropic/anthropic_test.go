package anthropic_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/llm/anthropic"
)

var update = flag.Bool("update", false, "write golden files")

const key = "sk-ant-0123456789"

// provider gives the answers one by one and keeps what it was sent.
type provider struct {
	url   string
	sent  [][]byte
	head  []http.Header
	query []string
}

func serve(t *testing.T, answers ...string) *provider {
	t.Helper()
	p := &provider{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.URL.Path != "/v1/messages" || r.Method != http.MethodPost {
			t.Errorf("%s %s: %v", r.Method, r.URL, err)
		}
		p.sent, p.head = append(p.sent, body), append(p.head, r.Header)
		p.query = append(p.query, r.URL.RawQuery)
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		io.WriteString(w, answers[min(len(p.sent), len(answers))-1])
	}))
	t.Cleanup(s.Close)
	p.url = s.URL
	return p
}

func file(t *testing.T, name string) string {
	t.Helper()
	b := must.Get(os.ReadFile(filepath.Join("testdata", name)))(t)
	return string(b)
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	var b bytes.Buffer
	must.Do(t, json.Indent(&b, got, "", " "))
	b.WriteByte('\n')
	if *update {
		must.Do(t, os.WriteFile(filepath.Join("testdata", name), b.Bytes(), 0o600))
	}
	if want := file(t, name); b.String() != want {
		t.Errorf("%s is\n%s\nwant\n%s", name, &b, want)
	}
}

func open(t *testing.T, c anthropic.Config) *anthropic.Model {
	t.Helper()
	c.Model, c.APIKey = "claude-test-1", key
	m := must.Get(anthropic.New(c))(t)
	return m
}

// TestAConversation is a question with an image, two calls with thoughts, their results, and the
// answer: what was sent each time, and what was read.
func TestAConversation(t *testing.T) {
	p := serve(t, file(t, "calls.sse"), file(t, "answer.sse"))
	m := open(t, anthropic.Config{BaseURL: p.url, MaxTokens: 2000, Temperature: new(0.5), Effort: true,
		ThinkingOn:  map[string]any{"thinking": map[string]any{"type": "enabled", "budget_tokens": 4096}},
		ThinkingOff: map[string]any{"thinking": map[string]any{"type": "disabled"}}})
	tools := []*agent.Tool{
		{Name: "ls", Description: "List a folder.",
			Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)},
		{Name: "now", Description: "The time."},
	}
	history := []*agent.Message{{ID: "h1", Type: agent.TypeHuman, Content: agent.Content{Blocks: []json.RawMessage{
		json.RawMessage(`{"type":"text","text":"What is in /mnt, and what time is it?"}`),
		json.RawMessage(`{"type":"image_url","image_url":{"url":"data:image/jpeg;base64,AAAA"}}`)}}}}
	call := func(n int, o agent.ModelOptions) *agent.Message {
		s := agent.State{Messages: history}
		got := must.Get(agent.Collect(fmt.Sprintf("ai%d", n),
			m.Stream(t.Context(), agent.BuildRequest("You list folders.", &s, tools, o))))(t)
		golden(t, fmt.Sprintf("request%d.json", n), p.sent[n-1])
		raw := must.Get(agent.Encode(got))(t)
		golden(t, fmt.Sprintf("message%d.json", n), raw)
		var stored agent.Message // as it comes back from the store
		must.Do(t, json.Unmarshal(raw, &stored))
		history = append(history, &stored)
		return got
	}
	first := call(1, agent.ModelOptions{Thinking: true, Effort: "minimal"})
	want := (&agent.Usage{Input: 2021, Output: 89, Total: 2110,
		InputDetails: map[string]int{"cache_read": 700, "cache_creation": 1300}})
	if !reflect.DeepEqual(first.Usage, want) {
		t.Errorf("usage %+v", first.Usage)
	}
	history = append(history, &agent.Message{ID: "t1", Type: agent.TypeTool, ToolCallID: "toolu_01",
		Content: agent.Text("a.txt\nb.txt")},
		&agent.Message{ID: "t2", Type: agent.TypeTool, ToolCallID: "toolu_02", Status: "error",
			Content: agent.Text("")})
	second := call(2, agent.ModelOptions{Thinking: true})
	if second.Content.Text != "Two files." || second.Meta["finish_reason"] != "stop" {
		t.Errorf("answer %+v", second)
	}
	history = append(history, &agent.Message{ID: "h2", Type: agent.TypeHuman, Content: agent.Text("Thanks.")},
		&agent.Message{ID: "h3", Type: agent.TypeHuman, Content: agent.Text("And now?")})
	call(3, agent.ModelOptions{})
	h := p.head[0]
	if h.Get("X-Api-Key") != key || h.Get("Anthropic-Version") != anthropic.Version || h.Get("Authorization") != "" {
		t.Errorf("headers %v", h)
	}
}

// TestThePrefixStaysTheSame from call to call, byte for byte, or nothing of it would be cached.
func TestThePrefixStaysTheSame(t *testing.T) {
	read := func(name string) (tools, system string, messages []string) {
		var body struct {
			Tools, System json.RawMessage
			Messages      []json.RawMessage
		}
		must.Do(t, json.Unmarshal([]byte(strings.ReplaceAll(file(t, name), `"cache_control"`, `"c"`)), &body))
		for _, m := range body.Messages {
			var turn struct {
				Content []map[string]any
			}
			must.Do(t, json.Unmarshal(m, &turn))
			for _, b := range turn.Content {
				delete(b, "c")
				messages = append(messages, fmt.Sprint(b))
			}
		}
		return string(body.Tools), string(body.System), messages
	}
	tools, system, before := read("request1.json")
	for _, name := range []string{"request2.json", "request3.json"} {
		nextTools, nextSystem, after := read(name)
		if nextTools != tools || nextSystem != system || len(after) <= len(before) ||
			!reflect.DeepEqual(after[:len(before)], before) {
			t.Errorf("%s begins differently", name)
		}
		before = after
	}
}

func TestAddressesOfEveryForm(t *testing.T) {
	for in, want := range map[string]string{
		"": anthropic.Base, "https://api.anthropic.com": "https://api.anthropic.com",
		"https://api.anthropic.com/v1/":           "https://api.anthropic.com",
		"https://x.example/anthropic/v1/messages": "https://x.example/anthropic",
		"https://x.example/anthropic":             "https://x.example/anthropic",
	} {
		if got, _, err := anthropic.Root(in); err != nil || got != want {
			t.Errorf("%q: %q %v", in, got, err)
		}
	}
	for _, bad := range []string{"nonsense", "ftp://x", "://"} {
		if _, err := anthropic.New(anthropic.Config{Model: "m", BaseURL: bad}); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	if _, err := anthropic.New(anthropic.Config{}); err == nil {
		t.Error("a model without a name is taken")
	}
}

func TestAnswersThatAreNotStreamedAreReadToo(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"type":"message","model":"x","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"Hello."},{"type":"tool_use","id":"t","name":"ls","input":{"path":"/"}}],"stop_reason":"tool_use","usage":{"input_tokens":3,"output_tokens":4}}`)
	}))
	defer s.Close()
	got, err := agent.Collect("m", open(t, anthropic.Config{BaseURL: s.URL}).Stream(t.Context(), hello()))
	if err != nil || got.Content.Text != "Hello." || got.Kwargs["reasoning_content"] != "hm" ||
		len(got.ToolCalls) != 1 || string(got.ToolCalls[0].Args) != `{"path":"/"}` || got.Usage.Total != 7 {
		t.Errorf("%+v %v", got, err)
	}
}

func hello() *agent.Request {
	return &agent.Request{System: "be kind",
		Messages: []*agent.Message{{ID: "h", Type: agent.TypeHuman, Content: agent.Text("hello")}}}
}
