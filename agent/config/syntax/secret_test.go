package syntax_test

import (
	"testing"

	"fawn/agent/config/syntax"
)

func TestSecretKeyTellsSecretsFromCounts(t *testing.T) {
	for name, want := range map[string]bool{
		"api_key": true, "gemini_api_key": true, "X-Auth-Token": true, "accessToken": true, "CLIENT_SECRET": true,
		"Authorization": true, "max_tokens": false, "max_injection_tokens": false, "keywords": false, "region": false,
		"": false,
	} {
		if syntax.SecretKey(name) != want {
			t.Errorf("SecretKey(%q) is %v", name, !want)
		}
	}
}
