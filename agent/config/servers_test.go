package config_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/agent/config"
	"fawn/agent/config/servers"
)

const someServers = `{
  "other": {"kept": [1, 2.50]},
  "mcpServers": {
    "b": {"command": "npx", "args": ["-y", "server", "--api-key", "K1", "--token=T1", "$REF"], "env": {"TOKEN": "E1"}, "mine": 1},
    "a": {"url": "https://u:P1@h.example/mcp?key=Q1&x", "headers": {"Authorization": "H1"}, "routing": {"mode": "prefer"},
          "oauth": {"token_url": "https://t.example", "client_secret": "S1", "refresh_token": "R1", "extra_token_params": {"p": "X1"}}}
  },
  "skills": {"one": {"enabled": false}}
}`

func serverStore(t *testing.T) (*config.Store, string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "extensions_config.json")
	must.Do(t, os.WriteFile(file, []byte(someServers), 0o640))
	s := must.Get(config.Open(config.Options{DataDir: dir}, slog.New(slog.DiscardHandler)))(t)
	return s, file
}

func TestServersAreShownWithoutSecrets(t *testing.T) {
	s, _ := serverStore(t)
	list := must.Get(s.Servers())(t)
	b := must.Get(json.Marshal(list.Masked()))(t)
	for _, secret := range []string{"K1", "T1", "E1", "P1", "Q1", "H1", "S1", "R1", "X1"} {
		if strings.Contains(string(b), secret) {
			t.Errorf("%s is shown in %s", secret, b)
		}
	}
	for _, want := range []string{`"--token=***"`, `"$REF"`, `"type":"http"`, `"client_secret":null`,
		`"tool_name_prefix":true`,
		`"mine":1`, `https://u:***@h.example/mcp?key=***`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("%s is not in %s", want, b)
		}
	}
}

// TestMaskedServersComeBackWhole: what was shown can be sent back without losing anything.
func TestMaskedServersComeBackWhole(t *testing.T) {
	s, file := serverStore(t)
	list := must.Get(s.Servers())(t)
	b := must.Get(json.Marshal(list.Masked()))(t)
	var sent config.Servers
	must.Do(t, json.Unmarshal(b, &sent))
	delete(sent["a"], "routing")
	sent["b"]["description"] = "new"
	must.Do(t, s.EditServers(sent.Restored))
	data := must.Get(os.ReadFile(file))(t)
	for _, want := range []string{`"K1"`, `"--token=T1"`, `"E1"`, `https://u:P1@h.example/mcp?key=Q1&x`, `"H1"`,
		`"S1"`, `"R1"`, `"X1"`, `2.50`, `"prefer"`, `"description": "new"`, `"one"`} {
		if !strings.Contains(string(data), want) {
			t.Errorf("%s is not in %s", want, data)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the file: %v, %v", info, err)
	}
	if d := s.Current().Extensions.MCPServers["b"].Description; d != "new" {
		t.Errorf("the change is not in force: %q", d)
	}
}

func TestSecretsAreKeptClearedAndRefused(t *testing.T) {
	s, _ := serverStore(t)
	stored := must.Get(s.Servers())(t)
	got := must.Get(config.Servers{"a": {"url": "https://h.example", "oauth": map[string]any{"token_url": "t",
		"client_secret": nil, "refresh_token": ""}}}.Restored(stored))(t)
	o := got["a"]["oauth"].(map[string]any)
	if _, has := o["refresh_token"]; has || o["client_secret"] != "S1" {
		t.Errorf("oauth is %v", o)
	}
	for _, bad := range []config.Servers{
		{"a": {"headers": map[string]any{"Other": "***"}}},
		{"new": {"env": map[string]any{"TOKEN": "***"}}},
		{"b": {"args": []any{"-y", "other", "--api-key", "x", "--token=***", "more", "--secret=***"}}},
		{"a": {"url": "https://evil.example/mcp?key=***&x"}},
		{"a": nil},
	} {
		var wrong *config.BadServers
		if got, err := bad.Restored(stored); !errors.As(err, &wrong) {
			t.Errorf("%v becomes %v, %v", bad, got, err)
		}
	}
}

func TestServersThatCannotBeReadAreNotWritten(t *testing.T) {
	s, file := serverStore(t)
	var wrong *config.BadServers
	err := s.EditServers(func(list config.Servers) (config.Servers, error) {
		list["c"] = map[string]any{"command": "npx", "args": map[string]any{"not": "a list"}}
		return list, nil
	})
	if !errors.As(err, &wrong) || !strings.Contains(err.Error(), "args") {
		t.Errorf("the error is %v", err)
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != someServers {
		t.Errorf("the file was changed: %s, %v", data, err)
	}
}

func TestServersOfOtherPrograms(t *testing.T) {
	s := load(t, files{"config.yaml": "title: {}\n", "extensions_config.json": `{"servers": {
		"vscode": {"type": "streamable-http", "url": "https://a.example"}, "cursor": {"url": "https://b.example"},
		"claude": {"command": "npx", "args": ["-y", "x"]}, "off": {"command": "x", "disabled": true}}}`}, nil)
	all := s.Extensions.MCPServers
	if all["cursor"].Type != "http" || all["claude"].Type != "stdio" || all["off"].Enabled || len(s.Disabled) > 0 {
		t.Errorf("the servers are %+v, disabled %v", all, s.Disabled)
	}
}

func TestPastedServers(t *testing.T) {
	for text, want := range map[string]string{
		`{"mcpServers": {"a": {"command": "npx", "args": ["-y", "x"]}}}`: `{"a":{"args":["-y","x"],"command":"npx"}}`,
		`{"inputs": [], "servers": {"a": {"type": "http", "url": "u", "headers": {"K": "${input:api-key}"}}}}`: `{"a":{"headers":{` +
			`"K":"$API_KEY"},"type":"http","url":"u"}}`,
		`{"mcp": {"servers": {"a": {"command": "x", "args": ["${workspaceFolder}/d"], "env": {"T": "${env:Tok}"}}}}}`: `{"a":{"args":[` +
			`"/mnt/user-data/workspace/d"],"command":"x","env":{"T":"$Tok"}}}`,
		`{"a": {"serverUrl": "u"}, "b": {"command": "x"}}`: `{"a":{"url":"u"},"b":{"command":"x"}}`,
		`[]`: "that is not a JSON object", `{"a": 1}`: `"a" has neither a command nor a url`,
		`{}`: "there is no server in it",
		`{"a": {"url": "u", "headers": {"A": "Bearer ${input:k}"}}}`: "a has a variable inside a longer value; make the whole value $NAME",
	} {
		got, err := servers.Parse(text)
		b, _ := json.Marshal(got)
		if err != nil {
			b = []byte(err.Error())
		}
		if string(b) != want {
			t.Errorf("%s becomes %s", text, b)
		}
	}
}
