package config_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/agent/config"
)

// TestWebServicesAreSetUpInTheSettings: order, fallback and address go to settings.yaml, keys where services look for
// them, and config.yaml's words count again once they are taken back.
func TestWebServicesAreSetUpInTheSettings(t *testing.T) {
	s, root := open(t, files{"config.yaml": "web: {fallback: false, ports: [3000]}\ndisabled_tools: [image_search]\n"}, nil)
	must.Do(t, s.ChangeWeb(config.WebEdit{Order: []string{"brave", "tavily"}, Fallback: new(true),
		SearXNG: new("http://127.0.0.1:8888"), Keys: map[string]config.Secret{"TAVILY_API_KEY": "tvly-secret"}}))
	w := s.Current().File.Web
	if fmt.Sprintln(w.Order, w.Fallback, w.SearXNGURL, w.Ports, w.Enabled) != "[brave tavily] true http://127.0.0.1:8888 [3000] true\n" {
		t.Errorf("%+v", w)
	}
	if v, ok := s.Current().Env("TAVILY_API_KEY"); !ok || v != "tvly-secret" || !s.Current().SetHere("TAVILY_API_KEY") {
		t.Errorf("the key is %q, %v", v, ok)
	}
	if strings.Contains(text(t, root, "settings.yaml"), "tvly-secret") || !strings.Contains(text(t, root, "secrets.env"), "tvly-secret") {
		t.Error("the key is in the wrong file")
	}
	must.Do(t, s.ChangeWeb(config.WebEdit{Keys: map[string]config.Secret{"TAVILY_API_KEY": ""}}))
	if _, ok := s.Current().Env("TAVILY_API_KEY"); ok || len(s.Current().File.Web.Order) != 2 {
		t.Error("the key was not forgotten, or more than it")
	}
	var wrong *config.EditError
	if err := s.ChangeWeb(config.WebEdit{SearXNG: new("searx")}); !errors.As(err, &wrong) || wrong.Reason != config.BadAddress {
		t.Error(err)
	}
	if err := s.ChangeWeb(config.WebEdit{Keys: map[string]config.Secret{"A": "two\nlines"}}); !errors.As(err, &wrong) || wrong.Reason != config.BadKey {
		t.Error(err)
	}
	for _, step := range []struct {
		name string
		on   bool
		want string
	}{{"bash", false, "[image_search bash]"}, {"image_search", true, "[bash]"}, {"bash", true, "[]"}} {
		must.Do(t, s.SwitchTool(step.name, step.on))
		if got := fmt.Sprint(s.Current().File.DisabledTools); got != step.want {
			t.Errorf("%s %v: %s, want %s", step.name, step.on, got, step.want)
		}
	}
}
