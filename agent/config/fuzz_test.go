package config_test

import (
	"encoding/json"
	"errors"
	"testing"

	"fawn/agent/config"
)

// FuzzLoad proves that any content gives a snapshot or an error that can be shown, never both or neither.
func FuzzLoad(f *testing.F) {
	f.Add(older, "title: {max_words: 3}", "A=1", `{"mcpServers": {"a": {"command": "$A"}}}`)
	f.Add("a: &a [*a]", "x: [", "=", "{")
	f.Add("models: [{name: a, api_key: $A}, null, {name: a}]\nmemory: {max_facts: 20, model: 3}", "models: [{name: a}]",
		"", `{"skills": null}`)
	f.Add("<<: {title: 1}\n? [x]\n: y", "---\n---\n", "A='", "[]")
	f.Add("server: {cors_origins: $A, max_body_bytes: 1e400, header_timeout: -9e99}", "~", "A=*", `{"a":1e999}`)
	f.Add("sandbox: {limits: {memory: 99999999TiB}, idle_timeout: 99999999999h, environment: {A: [1]}}\nlogging: {enhance: []}", "", "", "")
	f.Fuzz(func(t *testing.T, yaml, settings, env, extensions string) {
		s, err := config.LoadText(yaml, settings, env, extensions, func(name string) (string, bool) {
			return "https://a.example", name == "REAL" || name == "GATEWAY_CORS_ORIGINS"
		})
		switch {
		case err != nil && s != nil, err == nil && s == nil:
			t.Fatalf("snapshot %v, error %v", s, err)
		case err != nil:
			if !errors.Is(err, config.ErrInvalid) || err.Error() == "" {
				t.Fatalf("error without a place: %v", err)
			}
			return
		}
		for _, w := range s.Warnings {
			if w.String() == "" {
				t.Error("empty warning")
			}
		}
		s.Origin("models.a.api_key")
		if _, err := json.Marshal(s.File); err != nil {
			t.Errorf("the snapshot cannot be shown: %v", err)
		}
	})
}
