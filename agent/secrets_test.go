package agent_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest/must"
)

func TestSecretsShowOnlyTheirNames(t *testing.T) {
	o := agent.Options{Secrets: agent.Secrets{"TOKEN": "hunter2hunter2", "KEY": "abcdefgh"}}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("run", "options", o, "secrets", o.Secrets)
	encoded := must.Get(json.Marshal(o))(t)
	for name, text := range map[string]string{
		"%v": fmt.Sprintf("%v", o), "%+v": fmt.Sprintf("%+v", o), "%#v": fmt.Sprintf("%#v", o),
		"%s": o.Secrets.String(), "log": log.String(), "json": string(encoded),
	} {
		if strings.Contains(text, "hunter2") || strings.Contains(text, "abcdefgh") || !strings.Contains(text, "TOKEN") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

func TestMaskerHidesValuesAndLinesOfThem(t *testing.T) {
	for name, c := range map[string]struct {
		secrets    agent.Secrets
		text, want string
	}{
		"plain":          {agent.Secrets{"A": "pass-word"}, "it is pass-word, pass-word!", "it is ****, ****!"},
		"longest first":  {agent.Secrets{"A": "abcd", "B": "abcdefgh"}, "abcdefgh abcd", "**** ****"},
		"short stays":    {agent.Secrets{"A": "abc", "B": "long enough"}, "abc", "abc"},
		"a line of many": {agent.Secrets{"A": "-----BEGIN-----\nMIIEvQIBADAN\nab\n"}, "got MIIEvQIBADAN and ab", "got **** and ab"},
		"inside json":    {agent.Secrets{"A": `pa"ss\word`}, `{"out":"pa\"ss\\word"}`, `{"out":"****"}`},
	} {
		if got := c.secrets.Masker()(c.text); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if (agent.Secrets{"A": "abc"}).Masker() != nil || agent.Secrets(nil).Masker() != nil {
		t.Error("there is something to mask")
	}
}
