package config_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/agent/config"
)

// files is a set of files to write below a fresh folder; the key "data/x" is DIR/x.
type files map[string]string

// setup writes the files and returns options that see only the given environment.
func setup(t *testing.T, f files, env map[string]string) (config.Options, string) {
	t.Helper()
	root := t.TempDir()
	write(t, root, f)
	must.Do(t, os.MkdirAll(filepath.Join(root, "data"), 0o700))
	o := config.Options{
		DataDir:   filepath.Join(root, "data"),
		LookupEnv: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
	}
	if _, ok := f["config.yaml"]; ok {
		o.Config = filepath.Join(root, "config.yaml")
	}
	return o, root
}

func write(t *testing.T, root string, f files) {
	t.Helper()
	for name, text := range f {
		path := filepath.Join(root, filepath.FromSlash(name))
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	}
}

func load(t *testing.T, f files, env map[string]string) *config.Snapshot {
	t.Helper()
	o, _ := setup(t, f, env)
	s, err := config.Load(o)
	if err != nil {
		t.Fatalf("load: %v", err)
	}
	return s
}

const older = `
config_version: 33
log_level: WARNING
models:
  - name: gpt-4
    display_name: GPT-4
    use: langchain_openai:ChatOpenAI
    model: gpt-4
    api_key: $OPENAI_API_KEY
    request_timeout: 600.0
    max_retries: 2
    max_tokens: 4096
    temperature: 0.7
    supports_vision: yes
    context_window: 128_000
    pricing: {input_per_million: 2.5, output_per_million: 10}
  - name: doubao
    use: deerflow.models.patched_deepseek:PatchedChatDeepSeek
    model: doubao-seed
    api_base: https://ark.example/api/v3
    api_key: $VOLCENGINE_API_KEY
    timeout: 600.0
    supports_thinking: true
    when_thinking_enabled:
      extra_body: {thinking: {type: enabled}}
    top_p: 0.9
    reasoning: on
tool_groups:
  - name: web
tools:
  - name: web_fetch
    group: web
    use: deerflow.community.jina_ai.tools:web_fetch_tool
    timeout: 10
    trust_env: true
  - name: web_search
    group: web
    use: deerflow.community.tavily.tools:web_search_tool
    api_key: $TAVILY_API_KEY
sandbox:
  use: deerflow.sandbox.local:LocalSandboxProvider
  mounts:
    - {host_path: /srv/project, container_path: /mnt/project, read_only: true}
  environment: {NODE_ENV: production, DEBUG: "false", PORT: 80}
subagents:
  timeout_seconds: 1800
  agents: {general-purpose: {max_turns: 250}}
  custom_agents:
    analysis: {description: d, system_prompt: p, tools: [bash], skills: [], model: inherit}
summarization:
  trigger: {type: tokens, value: 32000}
  keep: {type: messages, value: 10}
  model_name: null
memory:
  max_facts: 50
  debounce_seconds: 10
  backend_config:
    max_facts: 60
    model:
loop_detection:
  tool_freq_overrides: {bash: {warn: 150, hard_limit: 300}}
skills:
title:
  max_words: 6
  model_name: null
database: {backend: sqlite, sqlite_dir: .deer-flow/data}
scheduler: {enabled: false, poll_interval_seconds: 5}
`

func TestDeerFlowFileLoadsUnchanged(t *testing.T) {
	s := load(t, files{"config.yaml": older}, map[string]string{"OPENAI_API_KEY": "sk-1", "TAVILY_API_KEY": "tv"})
	noEffect := map[string]string{"config_version": "2:1", "database.sqlite_dir": "66:29"}
	for _, w := range s.Warnings {
		key, _, _ := strings.Cut(w.Message, " has no effect: ")
		if want := noEffect[key]; want == "" || !strings.HasSuffix(w.Place(), ":"+want) {
			t.Errorf("warning: %s", w)
		}
		delete(noEffect, key)
	}
	if len(noEffect) > 0 {
		t.Errorf("not told: %v", noEffect)
	}
	f := s.File
	check := func(what string, got, want any) {
		t.Helper()
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s = %v, want %v", what, got, want)
		}
	}
	gpt, _ := s.Model("gpt-4")
	check("api key", gpt.APIKey.Value(), "sk-1")
	check("timeout", gpt.Timeout, 10*time.Minute)
	check("retries", *gpt.MaxRetries, 2)
	check("temperature", *gpt.Temperature, 0.7)
	check("vision", gpt.SupportsVision, true)
	check("window", gpt.ContextWindow, 128000)
	check("currency", gpt.Pricing.Currency, "USD")
	check("disabled", gpt.Disabled, "")
	doubao, _ := s.Model("doubao")
	check("base url", doubao.BaseURL, "https://ark.example/api/v3")
	check("why", doubao.Disabled, "VOLCENGINE_API_KEY is not set")
	check("disabled list", s.Disabled, "[model doubao is disabled: VOLCENGINE_API_KEY is not set]")
	check("extra", doubao.Extra["top_p"], 0.9)
	check("extra switch", doubao.Extra["reasoning"], true)
	body := doubao.WhenThinkingEnabled["extra_body"].(map[string]any)["thinking"].(map[string]any)
	check("thinking", body["type"], "enabled")
	check("usable", len(s.UsableModels()), 1)
	check("tool extra", f.Tools[1].Extra["api_key"], "tv")
	check("tool number", f.Tools[0].Extra["timeout"], 10)
	check("level", f.LogLevel, "warn")
	check("env", f.Sandbox.Environment.Plain(), map[string]string{"NODE_ENV": "production", "DEBUG": "false",
		"PORT": "80"})
	check("mount", f.Sandbox.Mounts[0], config.Mount{HostPath: "/srv/project", ContainerPath: "/mnt/project",
		ReadOnly: true})
	check("subagent timeout", f.Subagents.Timeout, 30*time.Minute)
	custom := f.Subagents.CustomAgents["analysis"]
	check("custom turns", custom.MaxTurns, 50)
	check("no skills", custom.Skills != nil && len(custom.Skills) == 0, true)
	check("all tools of tweak", f.Subagents.Agents["general-purpose"].Skills == nil, true)
	check("trigger", f.Summarization.Trigger, "[{tokens 32000}]")
	check("nested memory key wins", f.Memory.Backend.MaxFacts, 60)
	check("flat memory key", f.Memory.Backend.Debounce, 10*time.Second)
	check("null section keeps defaults", f.Skills.ContainerPath, "/mnt/skills")
	check("null key keeps default", f.Title.MaxChars, 80)
	check("title words", f.Title.MaxWords, 6)
}

func TestNoFileGivesDefaults(t *testing.T) {
	s := load(t, nil, nil)
	if s.ConfigPath != "" || len(s.Warnings)+len(s.Disabled) != 0 {
		t.Errorf("got %+v", s)
	}
	if got, want := fmt.Sprintf("%+v", s.File), fmt.Sprintf("%+v", config.Default()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if s.ExtensionsPath != filepath.Join(s.DataDir, "extensions_config.json") {
		t.Errorf("extensions at %s", s.ExtensionsPath)
	}
}

func TestUnknownKeysWarnWithTheNearestKey(t *testing.T) {
	s := load(t,
		files{"config.yaml": "titel:\n  enabled: true\nsummarization:\n  trigerr: []\nmodels:\n  - name: a\n    api_kye: x\n    top_k: 4\nwhatever: 1\n"}, nil)
	want := []string{
		`config.yaml:1:1: unknown key "titel" is ignored; did you mean "title"?`,
		`config.yaml:4:3: unknown key "summarization.trigerr" is ignored; did you mean "trigger"?`,
		`config.yaml:7:5: unknown key "models[0].api_kye" is passed on; did you mean "api_key"?`,
		`config.yaml:9:1: unknown key "whatever" is ignored`,
	}
	var got []string
	for _, w := range s.Warnings {
		first, _, _ := strings.Cut(w.String(), "\n")
		got = append(got, filepath.Base(first))
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestVariablesComeFromThreePlaces(t *testing.T) {
	s := load(t, files{
		"config.yaml":      "models:\n  - {name: a, api_key: $A}\n  - {name: b, api_key: '${B}'}\n  - {name: c, api_key: $C}\n  - {name: d, api_key: $$D}\n  - {name: e, api_key: $E}\ntitle: {max_words: $WORDS, model_name: $NONE}\n",
		".env":             "A=file\nB=file\nC='from file'\nWORDS=3\nE=\n",
		"data/secrets.env": "A=secret\nB=secret\n",
	}, map[string]string{"A": "real"})
	want := []struct{ name, key, from, disabled string }{
		{"a", "real", "environment", ""}, {"b", "secret", "secrets.env", ""}, {"c", "from file", ".env", ""},
		{"d", "$D", "", ""}, {"e", "", ".env", "E is empty"},
	}
	for _, w := range want {
		m, _ := s.Model(w.name)
		if m.APIKey.Value() != w.key || m.Disabled != w.disabled {
			t.Errorf("%s: key %q, disabled %q; want %q, %q", w.name, m.APIKey.Value(), m.Disabled, w.key, w.disabled)
		}
		if got := s.Origin("models." + w.name + ".api_key").From; got != w.from {
			t.Errorf("%s: from %q, want %q", w.name, got, w.from)
		}
	}
	if s.File.Title.MaxWords != 3 {
		t.Errorf("a number from a variable: %d", s.File.Title.MaxWords)
	}
	if len(s.Warnings) != 1 ||
		!strings.Contains(s.Warnings[0].Message, "title.model_name is treated as missing: NONE is not set") {
		t.Errorf("warnings: %v", s.Warnings)
	}
	if v, ok := s.Env("C"); !ok || v != "from file" {
		t.Errorf("Env(C) = %q, %v", v, ok)
	}
}

// TestADefaultStandsForAVariableThatIsNotSet, as in a shell.
func TestADefaultStandsForAVariableThatIsNotSet(t *testing.T) {
	for text, want := range map[string]string{
		"${SET:-x}": "value", "${NONE:-x}": "x", "${EMPTY:-x}": "x", "${NONE:-}": "", "${NONE:-http://127.0.0.1:11434/v1}": "http://127.0.0.1:11434/v1",
		"${NONE:-a b}": "a b", "${NONE:-a:-b}": "a:-b", "${NONE:-$x}": "$x", "${NONE}": "", "$SET": "value", "${1X:-y}": "${1X:-y}",
		"${NONE:-é}": "é", "x${SET:-y}": "x${SET:-y}", "$${SET:-y}": "${SET:-y}",
	} {
		s := load(t, files{"config.yaml": "models:\n  - {name: a, base_url: '" + text + "'}\n"},
			map[string]string{"SET": "value", "EMPTY": ""})
		if m, _ := s.Model("a"); m.BaseURL != want {
			t.Errorf("%s is %q", text, m.BaseURL)
		}
	}
	s := load(t, files{"config.yaml": "models:\n  - {name: a, max_tokens: '${NONE:-40}', supports_vision: '${NONE:-true}'}\n"}, nil)
	if m, _ := s.Model("a"); m.MaxTokens != 40 || !m.SupportsVision {
		t.Errorf("a number and a flag: %+v", m)
	}
}

func TestSettingsAreLaidOverByName(t *testing.T) {
	s := load(t, files{
		"config.yaml":        "models:\n  - {name: gpt-5.1, use: x, max_tokens: 10}\n  - {name: b}\ntitle: {max_words: 4}\nserver: {hosts: [a]}\n",
		"data/settings.yaml": "models:\n  - name: gpt-5.1\n    max_tokens: 20\n  - name: new\ntitle:\n  max_chars: 30\nserver: {hosts: [b]}\n",
	}, nil)
	var names []string
	for _, m := range s.File.Models {
		names = append(names, fmt.Sprintf("%s %d %s", m.Name, m.MaxTokens, m.Origin.Source))
	}
	if got := strings.Join(names, ", "); got != "gpt-5.1 20 config.yaml, b 0 config.yaml, new 0 settings.yaml" {
		t.Errorf("models: %s", got)
	}
	if s.File.Title.MaxWords != 4 || s.File.Title.MaxChars != 30 || strings.Join(s.File.Server.Hosts, " ") != "b" {
		t.Errorf("got %+v %+v", s.File.Title, s.File.Server)
	}
	for path, want := range map[string]config.Origin{
		"models.gpt-5.1.max_tokens": {Source: "settings.yaml", Line: 3},
		"models.gpt-5.1.use":        {Source: "config.yaml", Line: 2},
		"title.max_words":           {Source: "config.yaml", Line: 4},
		"title.enabled":             {Source: "default"},
		"server.hosts.0":            {Source: "settings.yaml", Line: 7},
	} {
		if got := s.Origin(path); got != want {
			t.Errorf("%s: %+v, want %+v", path, got, want)
		}
	}
}

func TestExtensionsFileIsReadAndItsServersDisabledAlone(t *testing.T) {
	s := load(t, files{
		"config.yaml": "title: {}\n",
		"extensions_config.json": `{
  "mcpServers": {
    "gh": {"command": "npx", "args": ["-y", "server"], "env": {"TOKEN": "$GH_TOKEN", "EMPTY": "$EMPTY"}, "tool_call_timeout": 2.5},
    "web": {"type": "http", "url": "https://mcp.example", "headers": {"Authorization": "$NOT_THERE"}, "oauth": {"token_url": "https://t", "refresh_skew_seconds": 30}},
    "off": {"enabled": false, "command": "$NOT_THERE"},
    "bad": {"type": "sse"}
  },
  "skills": {"one": {"enabled": false}, "two": {}}
}`,
	}, map[string]string{"GH_TOKEN": "t", "EMPTY": ""})
	gh := s.Extensions.MCPServers["gh"]
	if gh.Disabled != "" || !gh.Enabled || gh.Type != "stdio" || gh.Env["TOKEN"].Value() != "t" ||
		gh.ToolCallTimeout != 2500*time.Millisecond || !gh.ToolNamePrefix {
		t.Errorf("gh: %+v", gh)
	}
	if v, ok := gh.Env["EMPTY"]; !ok || v != "" {
		t.Errorf("an empty variable stays a variable: %q %v", v.Value(), ok)
	}
	o := s.Extensions.MCPServers["web"].OAuth
	if o == nil || o.RefreshSkew != 30*time.Second || o.TokenField != "access_token" {
		t.Errorf("oauth: %+v", o)
	}
	want := "[mcp server web is disabled: NOT_THERE is not set mcp server bad is disabled: a server of type sse needs a url]"
	if got := fmt.Sprint(s.Disabled); got != want {
		t.Errorf("disabled %s, want %s", got, want)
	}
	if s.Extensions.Skills["one"].Enabled || !s.Extensions.Skills["two"].Enabled {
		t.Errorf("skills: %+v", s.Extensions.Skills)
	}
}

func TestChoicesFawnDoesNotHaveAreToldInOneSentence(t *testing.T) {
	s := load(t, files{"config.yaml": "database: {echo_sql: true, postgres_url: postgres://u:p@h/d}\ntitle: {model_name: gtp}\nmodels:\n  - {name: gpt}\n  - {name: gpt}\n"},
		map[string]string{"POSTGRES_URI": "x", "GATEWAY_CORS_ORIGINS": "https://a.example/, *"})
	all := fmt.Sprint(s.Warnings)
	for _, want := range []string{
		"config.yaml:1:12: database.echo_sql has no effect: statements are not logged",
		"POSTGRES_URI has no effect unless database.backend is postgres",
		`title.model_name: there is no model "gtp" in models; did you mean "gpt"?`,
		`the model "gpt" is given more than once`,
		`GATEWAY_CORS_ORIGINS: "*" is not an origin`,
	} {
		if !strings.Contains(all, want) {
			t.Errorf("missing %q in\n%s", want, all)
		}
	}
	if strings.Contains(all, "u:p@h") {
		t.Errorf("a password is told: %s", all)
	}
	if got := strings.Join(s.File.Server.CORSOrigins, " "); got != "https://a.example" {
		t.Errorf("origins: %s", got)
	}
}

func TestSkillsStayWhereNoSandboxCanShowThem(t *testing.T) {
	for path, want := range map[string]string{"/mnt/know-how": "/mnt/know-how", "/": "/mnt/skills",
		"know-how": "/mnt/skills", "/mnt/user-data/x": "/mnt/skills", "/usr/share/skills": "/mnt/skills",
		"/mnt/a/../b": "/mnt/skills", "/mnt/skills": "/mnt/skills", `""`: "/mnt/skills"} {
		s := load(t, files{"config.yaml": "skills: {container_path: " + path + "}\n"}, nil)
		told := strings.Contains(fmt.Sprint(s.Warnings), "skills stay at /mnt/skills")
		if got := s.File.Skills.ContainerPath; got != want || told != (got != path && path != `""`) {
			t.Errorf("%s: %s, warnings %v", path, got, s.Warnings)
		}
	}
}

func TestANamedFileMustExist(t *testing.T) {
	o, root := setup(t, nil, nil)
	o.Config = filepath.Join(root, "other.yaml")
	if _, err := config.Load(o); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestMergeKeysAndAliasesWork(t *testing.T) {
	s := load(t,
		files{"config.yaml": "models:\n  - &base {name: a, use: x, max_tokens: 5}\n  - <<: *base\n    name: b\n    max_tokens: 6\n"}, nil)
	if b, _ := s.Model("b"); b.Use != "x" || b.MaxTokens != 6 {
		t.Errorf("got %+v", b)
	}
}
