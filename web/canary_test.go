package web_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fawn/agent/agenttest"
	"fawn/web"
	"fawn/web/e2e/scriptmodel"
)

// canary is a secret; each place has one of its own, so that what shows says where from.
func canary(place string) string { return "cAnArY-" + place + "-7f3aQz19" }

// TestNoSecretIsLogged: keys of models, tools, servers and variables stay out of the log of a
// server that says all it can, in whatever way a failure quotes them.
func TestNoSecretIsLogged(t *testing.T) {
	// A provider that repeats what it was sent, as some do, and a key that was sent to somebody else.
	echoes := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, fmt.Sprintf(`{"error":{"message":"no access with %s, %s or %s at %s"}}`,
			canary("model2"), strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "),
			r.Header.Get("X-Key"), r.URL), http.StatusUnauthorized)
	}))
	t.Cleanup(echoes.Close)
	t.Setenv("OTHER_API_KEY", canary("environment"))
	model := scriptmodel.Start(t)
	model.When("use the tool", scriptmodel.Script{Turns: []scriptmodel.Turn{
		{
			ToolCalls: []scriptmodel.Call{
				{Name: "read_file",
					Args: json.RawMessage(`{"path":"/mnt/user-data/workspace/` + canary("environment") + `"}`)},
			},
		}, {Text: "Used."}}})
	data := t.TempDir()
	err := os.WriteFile(filepath.Join(data, "secrets.env"), []byte("SCRIPT_API_KEY="+canary("secrets-env")+"\n"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(data, "extensions_config.json"), fmt.Appendf(nil,
		`{"mcpServers":{"far":{"enabled":true,"type":"http","url":"%s/mcp?api_key=%s","headers":{"X-Key":%q}}}}`,
		echoes.URL, canary("mcp-url"), canary("mcp-header")), 0o600); err != nil {
		t.Fatal(err)
	}
	conf := fmt.Sprintf(`log_level: debug
logging: {enhance: {enabled: true, format: json}}
metrics: {token: %s}
title: {enabled: false}
llm_call: {retry_max_attempts: 1}
models:
  - {name: script, use: openai, model: script, base_url: %q, api_key: $SCRIPT_API_KEY}
  - {name: echo, use: openai, model: echo, base_url: "%s/v1", api_key: %s}
  - {name: query, use: openai, model: query, base_url: "http://me:%s@127.0.0.1:1/v1", api_key: %s}
`, canary("metrics"), model.URL+"/v1", echoes.URL, canary("model"), canary("userinfo"), canary("model2"))
	var log *agenttest.Log
	s := start(t, conf, func(o *web.Options) {
		log = &agenttest.Log{}
		o.Data, o.Log = data, web.NewLog(log)
	})
	for _, name := range []string{"script", "echo", "query"} {
		s.send(t, "POST", "/runs/wait", human("use the tool", fmt.Sprintf(`"context":{"model_name":%q}`, name)))
	}
	s.send(t, "GET", "/metrics?token="+canary("query"), "", "Authorization", "Bearer "+canary("metrics"))
	s.send(t, "POST", "/threads/search", "{", "X-Trace-Id", "one")
	s.configure(t, strings.Replace(conf, "log_level: debug", "log_level: debug\nmisspelt_key: "+canary("model"), 1))
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	if !strings.Contains(log.String(), `"msg":"run failed"`) || !strings.Contains(log.String(), "no access with") {
		t.Errorf("the failures were not logged, so this test shows nothing:\n%s", log)
	}
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, "cAnArY") {
			t.Errorf("a secret is logged: %s", line)
		}
	}
}
