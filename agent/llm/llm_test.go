package llm_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/llm"
	"fawn/agent/llm/llmtest"
)

func TestEveryClassOfTheTableMakesAModelOrSaysWhyNot(t *testing.T) {
	for use, works := range map[string]bool{
		"": true, "langchain_openai:ChatOpenAI": true, "deerflow.models.patched_openai:PatchedChatOpenAI": true,
		"deerflow.models.patched_deepseek:PatchedChatDeepSeek": true,
		"src.models.patched_deepseek:PatchedChatDeepSeek":      true, "deerflow.models.patched_mimo:X": true,
		"deerflow.models.patched_minimax:X": true, "deerflow.models.patched_stepfun:X": true,
		"deerflow.models.vllm_provider:VllmChatModel": true, "langchain_google_genai:ChatGoogleGenerativeAI": true,
		"langchain_ollama:ChatOllama": true, "langchain_deepseek:ChatDeepSeek": true, "offline": true,
		"langchain_anthropic:ChatAnthropic": true, "deerflow.models.claude_provider:ClaudeChatModel": true,
		"anthropic": true, "langchain_openai:AzureChatOpenAI": false, "langchain_openai:Nonsense": false,
		"nonsense": false, "my.own:Class": false,
	} {
		m, err := llm.New(llm.Config{Name: "m", Use: use, APIKey: "k"})
		switch {
		case works && (err != nil || m == nil):
			t.Errorf("%q: %v", use, err)
		case !works && (m != nil || !errors.Is(err, llm.ErrClass) || !strings.Contains(err.Error(), use) ||
			!strings.Contains(err.Error(), "ChatOpenAI")):
			t.Errorf("%q: %v, %v", use, m, err)
		}
	}
	if m, err := llm.New(llm.Config{Name: "m", BaseURL: "nonsense"}); err == nil || m != nil {
		t.Errorf("a wrong address gives %v, %v", m, err)
	}
}

func TestSuite(t *testing.T) {
	llmtest.Suite(t, func(url string, idle time.Duration) agent.Model {
		m := must.Get(llm.New(llm.Config{Name: "test-model", BaseURL: url + "/v1", APIKey: llmtest.Key,
			IdleTimeout: idle}))(t)
		return m
	})
}

// body makes one call and returns what the provider reads.
func body(t *testing.T, cfg llm.Config, o agent.ModelOptions) map[string]any {
	t.Helper()
	var got map[string]any
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		must.Report(t, json.NewDecoder(r.Body).Decode(&got))
		got["authorization"] = r.Header.Get("Authorization")
		io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	defer s.Close()
	if cfg.BaseURL == "" {
		cfg.BaseURL = s.URL
	}
	if cfg.BaseURL == "env" {
		t.Setenv("OPENAI_BASE_URL", s.URL)
		cfg.BaseURL = ""
	}
	m := must.Get(llm.New(cfg))(t)
	must.Get(agent.Collect("m",
		m.Stream(t.Context(),
			&agent.Request{Messages: []*agent.Message{{Type: agent.TypeHuman, Content: agent.Text("hi")}}, Options: o})))(t)
	return got
}

type object = map[string]any

func TestThinkingIsSaidInTheDialectOfTheConfiguration(t *testing.T) {
	extra := llm.Config{Name: "m", SupportsThinking: true, SupportsReasoningEffort: true,
		WhenThinkingEnabled: object{"extra_body": object{"thinking": object{"type": "enabled", "budget": 9.0}}}}
	vllm := llm.Config{Name: "m", SupportsThinking: true,
		WhenThinkingEnabled: object{
			"extra_body": object{"chat_template_kwargs": object{"enable_thinking": true, "x": "y"}},
		}}
	own := llm.Config{Name: "m", SupportsThinking: true, Thinking: object{"type": "enabled"},
		WhenThinkingDisabled: object{"reasoning_effort": "none", "max_retries": 3}}
	deaf := extra
	deaf.SupportsThinking = false
	for name, c := range map[string]struct {
		cfg  llm.Config
		on   bool
		want object // nil values: absent
	}{
		"extra body on":   {extra, true, object{"thinking": object{"type": "enabled", "budget": 9.0}, "reasoning_effort": nil, "extra_body": nil}},
		"extra body off":  {extra, false, object{"thinking": object{"type": "disabled"}, "reasoning_effort": "minimal"}},
		"template on":     {vllm, true, object{"chat_template_kwargs": object{"enable_thinking": true, "x": "y"}}},
		"template off":    {vllm, false, object{"chat_template_kwargs": object{"enable_thinking": false}}},
		"short form":      {own, true, object{"thinking": object{"type": "enabled"}}},
		"own off":         {own, false, object{"thinking": nil, "reasoning_effort": "none", "max_retries": nil}},
		"not supported":   {deaf, true, object{"thinking": nil}},
		"nothing said":    {llm.Config{Name: "m"}, false, object{"thinking": nil, "reasoning_effort": nil}},
		"extra keys pass": {llm.Config{Name: "m", Extra: object{"top_p": 0.5, "streaming": true, "model_kwargs": object{"seed": 7.0}}}, false, object{"top_p": 0.5, "seed": 7.0, "streaming": nil}},
	} {
		t.Run(name, func(t *testing.T) {
			got := body(t, c.cfg, agent.ModelOptions{Thinking: c.on})
			for k, want := range c.want {
				if !reflect.DeepEqual(got[k], want) {
					t.Errorf("%s is %v, want %v", k, got[k], want)
				}
			}
		})
	}
}

func TestKeyFromTheEnvironmentGoesToItsOwnAddressOnly(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-env")
	if got := body(t, llm.Config{Name: "m"}, agent.ModelOptions{}); got["authorization"] != "" {
		t.Errorf("another server was given %v", got["authorization"])
	}
	got := body(t, llm.Config{Name: "m", BaseURL: "env"}, agent.ModelOptions{})
	if got["authorization"] != "Bearer sk-env" {
		t.Errorf("the configured server was given %v", got["authorization"])
	}
}

func TestKeysAreToldByNameOnly(t *testing.T) {
	for _, name := range llm.KeyNames() {
		t.Setenv(name, "")
	}
	t.Setenv("GROQ_API_KEY", "gsk_secret")
	if got := llm.KeysInEnv(); !slices.Equal(got, []string{"GROQ_API_KEY"}) {
		t.Errorf("got %v", got)
	}
}
