package config_test

import (
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/agent/config"
)

func TestSecretsAreTakenOut(t *testing.T) {
	for name, text := range map[string]string{
		"config.yaml": `# my models
models:
  - name: a # the first
    api_key: sk-secret
    base_url: https://me:secret@example.org/v1
    max_tokens: 100
    default_headers: {X-Auth-Token: secret}
    extra: [{password: "secret"}]
  - {name: b, api_key: $OPENAI_API_KEY}
sandbox:
  environment: {PLAIN: secret}
`,
		"extensions_config.json": `{"mcpServers": {"a": {"command": "npx", "env": {"TOKEN": "secret", "B": "$B"}, "url": "https://e.org/<x>",
			"oauth": {"client_secret": "secret", "client_id": "me"}, "n": 12345678901234567890}}}`,
	} {
		b := must.Get(config.WithoutSecrets(name, []byte(text)))(t)
		got := string(b)
		if strings.Contains(strings.ToLower(strings.ReplaceAll(got, config.NotInBackup, "")), "sk-secret") ||
			strings.Contains(got, ": secret") || strings.Contains(got, `"secret"`) ||
			strings.Contains(got, ":secret@") {
			t.Errorf("%s still has secrets:\n%s", name, got)
		}
		for _, want := range map[string][]string{
			"config.yaml":            {"# my models", "# the first", "name: a", "max_tokens: 100", "$OPENAI_API_KEY", "https://me@example.org/v1", config.NotInBackup},
			"extensions_config.json": {`"$B"`, `"me"`, "https://e.org/<x>", "12345678901234567890", "npx", config.NotInBackup},
		}[name] {
			if !strings.Contains(got, want) {
				t.Errorf("%s lost %q:\n%s", name, want, got)
			}
		}
	}
	plain := "models: [] # nothing\n\n\n"
	if b, err := config.WithoutSecrets("config.yaml", []byte(plain)); err != nil || string(b) != plain {
		t.Errorf("a file without secrets changed: %q %v", b, err)
	}
	for _, name := range []string{"config.yaml", "extensions_config.json"} {
		if b, err := config.WithoutSecrets(name, []byte("a: [")); err == nil {
			t.Errorf("%s: %s", name, b)
		}
	}
}
