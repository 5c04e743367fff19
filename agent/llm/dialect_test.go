package llm_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/llm"
	"fawn/agent/llm/llmtest"
	"fawn/agent/llm/openai"
)

var update = flag.Bool("update", false, "write golden files")

// A transcript is a conversation with one provider: what it was sent and what it answered.
// The answers have the shapes of the provider and words of our own; requests and messages
// are what this program made of them. Sections begin with "== name".
type transcript struct {
	t        *testing.T
	config   transcriptConfig
	sections map[string]string
	order    []string
}

type transcriptConfig struct {
	Use, Dialect, Model string
	BaseURL             string `json:"base_url"`
	MaxTokens           int    `json:"max_tokens"`
	Thinking, Effort    bool
}

func readTranscript(t *testing.T, path string) *transcript {
	t.Helper()
	raw := must.Get(os.ReadFile(path))(t)
	tr := &transcript{t: t, sections: map[string]string{}}
	for part := range strings.SplitSeq("\n"+string(raw), "\n== ") {
		name, body, ok := strings.Cut(part, "\n")
		if ok {
			tr.sections[name] = strings.TrimSuffix(body, "\n") + "\n"
			tr.order = append(tr.order, name)
		}
	}
	must.Do(t, json.Unmarshal([]byte(tr.sections["config"]), &tr.config))
	return tr
}

// expect compares a section, or writes it.
func (tr *transcript) expect(name, got string) {
	tr.t.Helper()
	got = regexp.MustCompile(`call_[A-Z2-7]{26}`).ReplaceAllString(got, "call_MADE")
	if !strings.HasSuffix(got, "\n") {
		got += "\n"
	}
	if *update {
		if _, ok := tr.sections[name]; !ok {
			tr.order = append(tr.order, name)
		}
		tr.sections[name] = got
	}
	if want := tr.sections[name]; got != want {
		tr.t.Errorf("%s is\n%s\nwant\n%s", name, got, want)
	}
}

func (tr *transcript) write(path string) {
	tr.t.Helper()
	var b strings.Builder
	for _, name := range []string{"config", "request 1", "answer 1", "message 1", "request 2", "answer 2", "message 2",
		"request 3"} {
		fmt.Fprintf(&b, "== %s\n%s", name, tr.sections[name])
	}
	must.Do(tr.t, os.WriteFile(path, []byte(b.String()), 0o600))
}

// provider answers calls with the recorded answers and keeps what it was sent.
type provider struct {
	answers []string
	sent    []string
}

// RoundTrip implements http.RoundTripper.
func (p *provider) RoundTrip(r *http.Request) (*http.Response, error) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, raw, "", " "); err != nil {
		return nil, err
	}
	p.sent = append(p.sent,
		fmt.Sprintf("%s %s\nAuthorization: %s\n%s\n", r.Method, r.URL, r.Header.Get("Authorization"), pretty.String()))
	body := p.answers[min(len(p.sent), len(p.answers))-1]
	return &http.Response{StatusCode: http.StatusOK,
		Header: http.Header{"Content-Type": {"text/event-stream; charset=utf-8"}},
		Body:   io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

// TestTranscriptsOfEveryDialect talks to each provider of the table: a question, two calls at
// once, their results, an answer, and a next question of two messages without thinking.
func TestTranscriptsOfEveryDialect(t *testing.T) {
	for _, path := range transcripts(t) {
		name := strings.TrimSuffix(filepath.Base(path), ".txt")
		t.Run(name, func(t *testing.T) {
			tr := readTranscript(t, path)
			c := tr.config
			p := &provider{answers: []string{tr.sections["answer 1"], tr.sections["answer 2"]}}
			cfg := llm.Config{Name: name, Use: c.Use, Model: c.Model, BaseURL: c.BaseURL, APIKey: llmtest.Key,
				MaxTokens: c.MaxTokens, SupportsThinking: c.Thinking, SupportsReasoningEffort: c.Effort,
				Dialect: c.Dialect, Client: &http.Client{Transport: p}}
			m := must.Get(llm.New(cfg))(t)
			options := agent.ModelOptions{Thinking: c.Thinking, Effort: "high"}
			tools := []*agent.Tool{
				{Name: "ls", Description: "List a folder.",
					Schema: json.RawMessage(
						`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"path":{"type":"string"},"const":{"type":"integer","exclusiveMinimum":0}},"required":["path"],"additionalProperties":false}`)},
			}
			history := []*agent.Message{
				{ID: "h1", Type: agent.TypeHuman, Content: agent.Text("What is in /mnt and /tmp?")},
			}
			call := func(n int, o agent.ModelOptions) *agent.Message {
				s := agent.State{Messages: history}
				got := must.Get(agent.Collect(fmt.Sprintf("ai%d", n),
					m.Stream(t.Context(), agent.BuildRequest("You list folders.", &s, tools, o))))(t)
				tr.expect(fmt.Sprintf("request %d", n), p.sent[n-1])
				history = append(history, got)
				return got
			}
			first := call(1, options)
			tr.expect("message 1", pretty(t, first))
			if len(first.ToolCalls) != 2 || len(first.Invalid) != 0 || first.ToolCalls[0].ID == first.ToolCalls[1].ID {
				t.Fatalf("calls %+v %+v", first.ToolCalls, first.Invalid)
			}
			for i, text := range []string{"a.txt\nb.txt", ""} {
				history = append(history, &agent.Message{ID: fmt.Sprintf("t%d", i), Type: agent.TypeTool, Name: "ls",
					ToolCallID: first.ToolCalls[i].ID, Content: agent.Text(text)})
			}
			second := call(2, options)
			tr.expect("message 2", pretty(t, second))
			if second.Content.Text != "Two files." && strings.TrimSpace(second.Content.Text) != "Two files." {
				t.Errorf("the answer is %q", second.Content.Text)
			}
			for _, m := range []*agent.Message{first, second} {
				if text := m.Content.Text; strings.Contains(text, "<t") || strings.Contains(text, "</") {
					t.Errorf("a thought leaked into %q", text)
				}
			}
			history = append(history,
				&agent.Message{ID: "h2", Type: agent.TypeHuman, Content: agent.Text("Today is Monday.")},
				&agent.Message{ID: "h3", Type: agent.TypeHuman, Content: agent.Text("Thanks. And now?")})
			call(3, agent.ModelOptions{})
			if *update {
				tr.write(path)
			}
		})
	}
}

func pretty(t *testing.T, m *agent.Message) string {
	t.Helper()
	raw := must.Get(agent.Encode(m))(t)
	var b bytes.Buffer
	must.Do(t, json.Indent(&b, raw, "", " "))
	return b.String()
}

func transcripts(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("testdata/dialects/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d transcripts, %v", len(paths), err)
	}
	return paths
}

// TestEveryProviderOfTheTableHasATranscript, but those which only have an address of their own.
func TestEveryProviderOfTheTableHasATranscript(t *testing.T) {
	have := map[string]bool{"compatible-echo": true, "mimo": true, "stepfun": true, "groq": true, "mistral": true,
		"xai": true}
	for _, path := range transcripts(t) {
		have[strings.TrimSuffix(filepath.Base(path), ".txt")] = true
	}
	for _, d := range openai.Dialects() {
		if !have[d.Name] {
			t.Errorf("%s has none", d.Name)
		}
	}
}

// TestTheDialectIsFoundByKeyAddressAndClass, in this order.
func TestTheDialectIsFoundByKeyAddressAndClass(t *testing.T) {
	for _, c := range []struct{ key, use, url, want string }{
		{"", "", "", "openai"},
		{"", "langchain_openai:ChatOpenAI", "https://api.openai.com/v1", "openai"},
		{"", "langchain_openai:ChatOpenAI", "https://models.house.example/v1", "compatible"},
		{"", "openai", "https://api.deepseek.com", "deepseek"},
		{"", "langchain_openai:ChatOpenAI", "https://notdeepseek.com.example", "compatible"},
		{"", "deerflow.models.patched_deepseek:PatchedChatDeepSeek", "https://api.moonshot.cn/v1", "moonshot"},
		{"", "deerflow.models.patched_deepseek:PatchedChatDeepSeek", "https://ark.example/api/v3", "deepseek"},
		{"", "openai", "http://localhost:11434/v1", "ollama"},
		{"", "openai", "http://127.0.0.1:1234/v1", "lmstudio"},
		{"", "openai", "http://models.lan:11434/v1", "compatible"},
		{"", "vllm", "http://127.0.0.1:11434/v1", "vllm"},
		{"", "langchain_ollama:ChatOllama", "http://models.lan:9000", "ollama"},
		{"", "openai", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "qwen"},
		{"vllm", "openai", "https://api.deepseek.com", "vllm"},
		{"Ollama", "", "", "ollama"},
	} {
		got, err := llm.DialectOf(llm.Config{Name: "m", Use: c.use, BaseURL: c.url, Dialect: c.key})
		if err != nil || got.Name != c.want {
			t.Errorf("%q %q %q is %q (%v), want %s", c.key, c.use, c.url, got.Name, err, c.want)
		}
	}
	_, err := llm.New(llm.Config{Name: "m", Dialect: "klingon"})
	if err == nil || !strings.Contains(err.Error(), "klingon") || !strings.Contains(err.Error(), "openrouter") {
		t.Errorf("an unknown dialect gives %v", err)
	}
}

// TestTheDocumentedEntriesWork reads the entries of docs/models.md: each makes a model of the
// dialect its heading names.
func TestTheDocumentedEntriesWork(t *testing.T) {
	raw := must.Get(os.ReadFile("../../docs/models.md"))(t)
	entries := regexp.MustCompile("(?s)\n### ([a-z-]+)\n\n```yaml\n(.*?)\n```").FindAllStringSubmatch(string(raw), -1)
	if len(entries) < 12 {
		t.Fatalf("%d entries", len(entries))
	}
	for _, e := range entries {
		var list []struct {
			Name, Use, Model string
			BaseURL          string `yaml:"base_url"`
			Key              string `yaml:"api_key"`
		}
		if err := yaml.Unmarshal([]byte(e[2]), &list); err != nil || len(list) != 1 || list[0].Name == "" ||
			list[0].Model == "" {
			t.Errorf("%s: %+v, %v", e[1], list, err)
			continue
		}
		cfg := llm.Config{Name: list[0].Name, Use: list[0].Use, Model: list[0].Model, BaseURL: list[0].BaseURL}
		d, err := llm.DialectOf(cfg)
		if err != nil || d.Name != e[1] {
			t.Errorf("%s: the dialect is %q, %v", e[1], d.Name, err)
		}
		if key := strings.TrimPrefix(list[0].Key, "$"); d.Name != "compatible" && len(d.Keys) > 0 && key != "" &&
			key != d.Keys[0] {
			t.Errorf("%s: the key is %s, the program looks for %s", e[1], key, d.Keys[0])
		}
		if _, err := llm.New(cfg); err != nil {
			t.Errorf("%s: %v", e[1], err)
		}
	}
}
