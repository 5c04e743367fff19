package config_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/agent/config"
)

func TestSecretsAreNeverShown(t *testing.T) {
	s := load(t,
		files{"config.yaml": "models:\n  - name: a\n    api_key: hunter2\n    headers: {Authorization: hunter2}\n    access_token: hunter2\n    keys: [hunter2]\n    proxy: http://u:hunter2@h\n    max_tokens: 5\n"}, nil)
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "model", s.File.Models[0], "key", s.File.Models[0].APIKey,
		"extra", s.File.Models[0].Extra)
	body := must.Get(json.Marshal(s.File.Models[0]))(t)
	for _, shown := range []string{
		string(body), log.String(), fmt.Sprintf("%v %+v %#v", s.File.Models, s.File.Models, s.File.Models),
		fmt.Sprintf("%s %q %x %d", s.File.Models[0].APIKey, s.File.Models[0].APIKey, s.File.Models[0].APIKey, s.File.Models[0].APIKey),
	} {
		if strings.Contains(shown, "hunter2") || strings.Contains(shown, fmt.Sprintf("%x", "hunter2")) {
			t.Errorf("the secret is in %s", shown)
		}
		if !strings.Contains(shown, "***") {
			t.Errorf("no mask in %s", shown)
		}
	}
	o, _ := setup(t, files{"config.yaml": "models:\n  - name: a\n    api_key: [hunter2]\n"}, nil)
	if _, err := config.Load(o); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the message shows the secret: %v", err)
	}
}
