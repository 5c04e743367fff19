package main

import (
	"encoding/json"
	"html"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
)

// TestTheLogShowsAsMuchAsTheLevelSays: at debug the state at the start of a run and its size at
// the end, at error nothing of the kind.
func TestTheLogShowsAsMuchAsTheLevelSays(t *testing.T) {
	t.Parallel()
	state := []string{`msg="Current state"`, "sandbox=", "thread_data=", "artifacts=", "viewed_images="}
	for level, want := range map[string]bool{"debug": true, "info": false} {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			s := serve(t, nil, "--data", t.TempDir(), "--config", configured(t, "log_level: "+level))
			thread := call[struct {
				ID string `json:"thread_id"`
			}](t, s, "POST", "/threads", "{}").ID
			follow(t, s, thread, "count 2", "event: end", 1)
			s.end(t, os.Interrupt)
			for _, part := range append(state, `msg="Total state size: `, " KB\" thread="+thread) {
				if got := strings.Contains(s.stderr, part); got != want {
					t.Errorf("%q in the log: %v, want %v\n%s", part, got, want, s.stderr)
				}
			}
		})
	}
}

// TestALevelInForceHidesWarnings: unknown keys are warnings, which log_level error leaves out.
func TestALevelInForceHidesWarnings(t *testing.T) {
	t.Parallel()
	for level, want := range map[string]bool{"warning": true, "critical": false} {
		s := serve(t, nil, "--data", t.TempDir(), "--config",
			file(t, "config.yaml", "log_level: "+level+"\nnothing_known: 1\n"))
		s.end(t, os.Interrupt)
		if got := strings.Contains(s.stderr, "nothing_known"); got != want {
			t.Errorf("%s: %q", level, s.stderr)
		}
	}
}

func TestLogLinesAreJSONWithATraceIDWhenAskedFor(t *testing.T) {
	t.Parallel()
	s := serve(t, nil, "--data", t.TempDir(), "--config",
		file(t, "config.yaml", "logging: {enhance: {enabled: true, format: json}}\nnothing_known: 1\n"))
	req, err := http.NewRequestWithContext(t.Context(), "GET", s.url+"/health", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Trace-Id", "my-trace.1")
	given := answerHeader(t, s, req)
	req.Header.Set("X-Trace-Id", "no id!")
	made := answerHeader(t, s, req)
	if given != "my-trace.1" || made == "" || strings.Contains(made, " ") {
		t.Errorf("trace ids %q and %q", given, made)
	}
	s.end(t, os.Interrupt)
	for _, line := range strings.Split(strings.TrimSpace(s.stderr), "\n") {
		var v struct{ Level, Msg string }
		if json.Unmarshal([]byte(line), &v) != nil || v.Level == "" {
			t.Errorf("not JSON: %s", line)
		}
	}
	if !strings.Contains(s.stderr, `"trace_id":"my-trace.1"`) || !strings.Contains(s.stderr, `"trace_id":"`+made+`"`) {
		t.Error(s.stderr)
	}
}

func answerHeader(t *testing.T, s *server, req *http.Request) string {
	t.Helper()
	res, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	return res.Header.Get("X-Trace-Id")
}

// TestStepsAreLimitedAsConfigured counts what a model's tools did before its last turn.
func TestStepsAreLimitedAsConfigured(t *testing.T) {
	t.Parallel()
	turn := `{"tool_calls": [{"name": "ls", "args": {"path": "/mnt/user-data/workspace"}}]}`
	message, err := json.Marshal("SCRIPT{\"turns\": [" + strings.Repeat(turn+",", 4) + `{"text": "done"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, conf, asked string
		want              int
	}{
		{"nothing configured", "", "", 4},
		{"a limit for those who name none", "runs: {recursion_limit: 3}", "", 2},
		{"a client's own wins", "runs: {recursion_limit: 3}", `, "config": {"recursion_limit": 50}`, 4},
		{"but for the highest", "max_recursion_limit: 3", `, "config": {"recursion_limit": 50}`, 2},
		{"which bounds the usual one too", "max_recursion_limit: 3", "", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, nil, "--data", t.TempDir(), "--config", configured(t, c.conf))
			state := call[struct {
				Messages []struct{ Type string }
			}](t, s, "POST", "/runs/wait", `{"input": {"messages": [{"type": "human", "content": `+string(message)+
				`}]}`+c.asked+`}`)
			got := 0
			for _, m := range state.Messages {
				if m.Type == "tool" {
					got++
				}
			}
			if got != c.want {
				t.Errorf("%d results of tools, want %d: %+v", got, c.want, state.Messages)
			}
		})
	}
}

// TestUnknownClassesAndKeysInVainAreTold: at the start, by doctor, in the list of models and in the
// settings, each with what there is.
func TestUnknownClassesAndKeysInVainAreTold(t *testing.T) {
	t.Parallel()
	conf := file(t, "config.yaml", `models:
  - {name: odd, use: "my.own:ChatModel", model: m, api_key: k}
  - {name: azure, use: "langchain_openai:AzureChatOpenAI", model: m, api_key: k}
tools:
  - {name: web_search, group: web, use: "my.own:web_search_tool"}
  - {name: strange, use: "my.own:strange_tool"}
  - {name: ls, use: "deerflow.sandbox.tools:ls_tool"}
sandbox: {use: "my.own:Sandbox", replicas: 3}
guardrails: {enabled: true, provider: {use: "my.own:Guard"}}
memory: {enabled: true, max_facts: 50, token_counting: char}
subagents: {enabled: false}
stream_bridge: {type: memory}
database: {echo_sql: true}
`)
	want := []string{
		"model odd is disabled", "my.own:ChatModel", "langchain_openai:ChatOpenAI", "deepseek",
		"model azure is disabled", "Azure",
		"tool web_search is disabled", "unknown service", "duckduckgo",
		"tool strange is disabled", "my.own:strange_tool", "read_file",
		"sandbox.use", "my.own:Sandbox", "deerflow.sandbox.local:LocalSandboxProvider",
		"guardrails.provider.use", "my.own:Guard", "AllowlistProvider",
		"sandbox.replicas has no effect", "token_counting has no effect",
		"database.echo_sql has no effect", "statements are not logged",
	}
	unwanted := []string{"tool ls", "memory.max_facts has", "subagents", "stream_bridge"}
	check := func(where, text string) {
		t.Helper()
		for _, part := range want {
			if !strings.Contains(text, part) {
				t.Errorf("%s does not say %q:\n%s", where, part, text)
			}
		}
		for _, part := range unwanted {
			if strings.Contains(text, part) {
				t.Errorf("%s says %q:\n%s", where, part, text)
			}
		}
	}
	r := finished(t, program(t, nil, "doctor", "--data", t.TempDir(), "--config", conf))
	check("doctor", r.stdout)
	s := serve(t, nil, "--data", t.TempDir(), "--config", conf)
	page, err := s.client.Get(s.url + "/workspace/settings/about")
	if err != nil {
		t.Fatal(err)
	}
	defer page.Body.Close()
	b, err := io.ReadAll(page.Body)
	if err != nil {
		t.Fatal(err)
	}
	check("the settings page", html.UnescapeString(string(b)))
	for _, path := range []string{"/api/models"} {
		got := call[struct {
			Models   []struct{ Name string }
			Disabled []struct{ Name, Reason string }
		}](t, s, "GET", path, "")
		if len(got.Models) != 0 || len(got.Disabled) != 2 || got.Disabled[0].Name != "odd" ||
			!strings.Contains(got.Disabled[0].Reason, "langchain_openai:ChatOpenAI") {
			t.Errorf("%s: %+v", path, got)
		}
	}
	s.end(t, os.Interrupt)
	check("the log", s.stderr)
}
