package config_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/agent/config"
)

func secret(text string) *config.Secret { return new(config.Secret(text)) }

func text(t *testing.T, root, name string) string {
	t.Helper()
	b := must.Get(os.ReadFile(filepath.Join(root, "data", name)))(t)
	return string(b)
}

func setting(t *testing.T, s *config.Store, name string) config.ModelSetting {
	t.Helper()
	for _, m := range s.Current().ModelSettings() {
		if m.Name == name {
			return m
		}
	}
	t.Fatalf("no model %q", name)
	return config.ModelSetting{}
}

func TestAddedModelIsInForceAtOnceAndItsKeyApart(t *testing.T) {
	s, root := open(t, nil, nil)
	must.Do(t, s.AddModel(config.ModelEdit{Name: "my/model.1", Key: secret("sk-very-secret"), Fields: map[string]any{
		"use": "openai", "model": "gpt-5", "base_url": "https://x.example/v1", "max_tokens": 8192.0, "temperature": 0.7,
		"supports_vision": true, "extra_body": map[string]any{"a": []any{"yes", 1.0, nil, "$HOME"}},
		"headers": map[string]any{"X-A": "b"}}}))
	m := setting(t, s, "my/model.1")
	if m.APIKey.Value() != "sk-very-secret" || m.MaxTokens != 8192 || *m.Temperature != 0.7 || !m.SupportsVision ||
		m.Headers["X-A"] != "b" || m.Disabled != "" {
		t.Errorf("got %+v", m.Model)
	}
	if got := fmt.Sprint(m.ExtraBody); got != `{"a":["yes",1,"$HOME"]}` {
		t.Errorf("extra_body is %s", got)
	}
	if !m.HasKey || m.InConfig || !m.InSettings || !m.Default {
		t.Errorf("provenance: %+v", m)
	}
	if o := m.Origins["api_key"]; o.From != "secrets.env" || !strings.HasPrefix(o.Variable, "FAWN_MODEL_MY_MODEL_1") {
		t.Errorf("the key comes from %+v", o)
	}
	if o := m.Origins["base_url"]; o.Source != "settings.yaml" || o.Line == 0 {
		t.Errorf("the address comes from %+v", o)
	}
	if s := text(t, root, "settings.yaml"); !strings.Contains(s,
		"\nmodels:\n  - name: \"my/model.1\"\n    base_url: \"https://x.example/v1\"\n") {
		t.Errorf("hard to read:\n%s", s)
	}
	if strings.Contains(text(t, root, "settings.yaml"), "very-secret") ||
		!strings.Contains(text(t, root, "secrets.env"), "very-secret") {
		t.Error("the key is not apart")
	}
	for _, name := range []string{"settings.yaml", "secrets.env"} {
		if info, err := os.Stat(filepath.Join(root, "data", name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", name, info.Mode(), err)
		}
	}
	if b, err := json.Marshal(m); err != nil || strings.Contains(string(b), "very-secret") {
		t.Errorf("shown: %s %v", b, err)
	}
	if err := s.AddModel(config.ModelEdit{Name: "my/model.1"}); !errors.Is(err, config.ErrModelExists) {
		t.Errorf("added twice: %v", err)
	}
	must.Do(t, s.RemoveModel("my/model.1"))
	if len(s.Current().File.Models) != 0 || strings.Contains(text(t, root, "secrets.env"), "FAWN_MODEL") ||
		strings.Contains(text(t, root, "settings.yaml"), "model") {
		t.Error("something is left of it")
	}
	left, err := filepath.Glob(filepath.Join(root, "data", ".*-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left over: %v %v", left, err)
	}
}

const ownersModel = "models:\n  - {name: big, use: openai, base_url: 'https://a.example/v1', api_key: $BIG_API_KEY, max_tokens: 100}\n  - {name: small, use: openai}\n"

func TestChangeOfAnOwnersModelIsLaidOverIt(t *testing.T) {
	s, root := open(t,
		files{"config.yaml": ownersModel, "data/settings.yaml": "# mine\ntitle: {max_words: 3} # short\n"},
		map[string]string{"BIG_API_KEY": "from-env"})
	must.Do(t, s.ChangeModel(config.ModelEdit{Name: "big",
		Fields: map[string]any{"max_tokens": 200.0, "display_name": "Big"}}))
	m := setting(t, s, "big")
	if m.MaxTokens != 200 || m.DisplayName != "Big" || m.APIKey != "from-env" || !m.InConfig || !m.InSettings {
		t.Errorf("got %+v", m)
	}
	if m.Origins["max_tokens"].Source != "settings.yaml" || m.Origins["base_url"].Source != "config.yaml" ||
		m.Origins["api_key"].From != "environment" {
		t.Errorf("origins: %+v", m.Origins)
	}
	if b, err := os.ReadFile(filepath.Join(root, "config.yaml")); err != nil || string(b) != ownersModel {
		t.Errorf("config.yaml was written: %s %v", b, err)
	}
	if got := text(t, root, "settings.yaml"); !strings.Contains(got, "# mine") || !strings.Contains(got, "# short") {
		t.Errorf("comments are lost:\n%s", got)
	}
	must.Do(t, s.ChangeModel(config.ModelEdit{Name: "big", Fields: map[string]any{"max_tokens": nil}}))
	if m := setting(t, s, "big"); m.MaxTokens != 100 || m.DisplayName != "Big" {
		t.Errorf("taken back: %+v", m.Model)
	}
	must.Do(t, s.RemoveModel("big"))
	if m := setting(t, s, "big"); m.DisplayName != "" || m.InSettings {
		t.Errorf("after removal: %+v", m)
	}
	if err := s.RemoveModel("big"); !errors.Is(err, config.ErrOwners) {
		t.Errorf("an owner's model was removed: %v", err)
	}
}

// TestStoredKeyDoesNotFollowAModelToAnotherServer: whoever may edit must not learn the key by sending it home.
func TestStoredKeyDoesNotFollowAModelToAnotherServer(t *testing.T) {
	s, _ := open(t, files{"config.yaml": ownersModel}, map[string]string{"BIG_API_KEY": "from-env"})
	for name, fields := range map[string]map[string]any{
		"host": {"base_url": "https://thief.example/v1"}, "scheme": {"base_url": "http://a.example/v1"},
		"alias": {"api_base": "https://thief.example"}, "provider": {"use": "ollama"}, "dialect": {"dialect": "groq"},
	} {
		var wrong *config.EditError
		e := config.ModelEdit{Name: "big", Fields: fields}
		if err := s.ChangeModel(e); !errors.As(err, &wrong) || wrong.Key != "api_key" {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := s.Overlaid(e); !errors.As(err, &wrong) || wrong.Key != "api_key" {
			t.Errorf("%s, tried: %v", name, err)
		}
	}
	if m := setting(t, s, "big"); m.BaseURL != "https://a.example/v1" || m.InSettings {
		t.Errorf("moved all the same: %+v", m)
	}
	for _, c := range []struct { // in this order: the second one moves what the first one changed
		name string
		edit config.ModelEdit
	}{
		{"same server", config.ModelEdit{Name: "big", Fields: map[string]any{"base_url": "https://a.example/other/v1"}}},
		{"new key", config.ModelEdit{Name: "big", Fields: map[string]any{"base_url": "https://b.example/v1"}, Key: secret("other")}},
		{"no key", config.ModelEdit{Name: "small", Fields: map[string]any{"base_url": "https://b.example/v1"}}},
	} {
		if err := s.ChangeModel(c.edit); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if m := setting(t, s, "big"); m.APIKey != "other" || m.BaseURL != "https://b.example/v1" {
		t.Errorf("not moved: %+v", m)
	}
}

func TestBadEditsNameTheKeyAndChangeNothing(t *testing.T) {
	s, root := open(t, files{"config.yaml": ownersModel}, map[string]string{"BIG_API_KEY": "k"})
	var wrong *config.EditError
	for key, e := range map[string]config.ModelEdit{
		"name":     {Name: " x"},
		"base_url": {Name: "x", Fields: map[string]any{"base_url": "ftp://x"}},
		"api_key":  {Name: "x", Key: secret("$HOME")},
	} {
		if err := s.AddModel(e); !errors.As(err, &wrong) || wrong.Key != key {
			t.Errorf("%s: %v", key, err)
		}
	}
	for _, e := range []config.ModelEdit{{Name: ""}, {Name: "$x"}, {Name: "Offline"}, {Name: "a\nb"},
		{Name: "x", Fields: map[string]any{"name": "y"}},
		{Name: "x", Key: secret("a\nB=c")}, {Name: "x", Fields: map[string]any{"base_url": "https://u:p@x"}}} {
		if err := s.AddModel(e); !errors.As(err, &wrong) {
			t.Errorf("%q: %v", e.Name, err)
		}
	}
	err := s.AddModel(config.ModelEdit{Name: "x", Fields: map[string]any{"temperature": "hot"}})
	if !errors.Is(err, config.ErrInvalid) || !strings.Contains(err.Error(), "temperature") {
		t.Errorf("a bad type: %v", err)
	}
	if err := s.ChangeModel(config.ModelEdit{Name: "none"}); !errors.Is(err, config.ErrNoModel) {
		t.Errorf("unknown: %v", err)
	}
	if err := s.SetDefaultModel("none"); !errors.Is(err, config.ErrNoModel) {
		t.Errorf("unknown default: %v", err)
	}
	if _, err := os.Stat(filepath.Join(root, "data", "settings.yaml")); !os.IsNotExist(err) {
		t.Errorf("something was written: %v", err)
	}
}

func TestBrokenSettingsAreToldNotWrittenOver(t *testing.T) {
	for name, f := range map[string]files{
		"settings": {"data/settings.yaml": "title: [\n"},
		"secrets":  {"data/secrets.env": "A=1\nthis is no line\n"},
	} {
		t.Run(name, func(t *testing.T) {
			s, root := open(t, nil, nil)
			write(t, root, f)
			if err := s.AddModel(config.ModelEdit{Name: "x", Key: secret("k")}); !errors.Is(err, config.ErrInvalid) {
				t.Errorf("added: %v", err)
			}
			for file, want := range f {
				if got := text(t, root, filepath.Base(file)); got != want {
					t.Errorf("written over: %q", got)
				}
			}
		})
	}
}

func TestDefaultModelComesFirst(t *testing.T) {
	s, _ := open(t, files{"config.yaml": ownersModel}, map[string]string{"BIG_API_KEY": "k"})
	must.Do(t, s.SetDefaultModel("small"))
	got := s.Current().UsableModels()
	if got[0].Name != "small" || got[1].Name != "big" || !setting(t, s, "small").Default {
		t.Errorf("order: %v", got)
	}
	must.Do(t, s.SetDefaultModel(""))
	if got := s.Current().UsableModels(); got[0].Name != "big" {
		t.Errorf("order: %v", got)
	}
}

func TestEditsAtOnceAllCount(t *testing.T) {
	s, _ := open(t, nil, nil)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			must.Report(t, s.AddModel(config.ModelEdit{Name: fmt.Sprintf("m-%d", i), Key: secret(fmt.Sprintf("key-%d", i))}))
		})
	}
	wg.Wait()
	for i := range 8 {
		if m := setting(t, s, fmt.Sprintf("m-%d", i)); m.APIKey.Value() != fmt.Sprintf("key-%d", i) {
			t.Errorf("%s has another key", m.Name)
		}
	}
}

func TestKeysOfLikeNamesAreApart(t *testing.T) {
	s, _ := open(t, nil, nil)
	for _, name := range []string{"a.b", "a-b", "a b"} {
		must.Do(t, s.AddModel(config.ModelEdit{Name: name, Key: secret("key of " + name)}))
	}
	must.Do(t, s.RemoveModel("a-b"))
	for _, name := range []string{"a.b", "a b"} {
		if m := setting(t, s, name); m.APIKey.Value() != "key of "+name {
			t.Errorf("%s lost its key", name)
		}
	}
}

func TestVariableOfAProviderCanBeNamed(t *testing.T) {
	s, root := open(t, nil, map[string]string{"OPENAI_API_KEY": "real"})
	must.Do(t, s.AddModel(config.ModelEdit{Name: "x", Key: secret("$OPENAI_API_KEY")}))
	if m := setting(t, s, "x"); m.APIKey != "real" || m.Origins["api_key"].Variable != "OPENAI_API_KEY" ||
		strings.Contains(text(t, root, "settings.yaml"), "real") {
		t.Errorf("got %+v", m.Origins)
	}
	must.Do(t, s.ChangeModel(config.ModelEdit{Name: "x", Key: secret("")}))
	if m := setting(t, s, "x"); m.HasKey {
		t.Error("the key is still there")
	}
}

func TestFixedConfigurationIsNotEdited(t *testing.T) {
	if err := config.Fixed(load(t, nil, nil)).AddModel(config.ModelEdit{Name: "x"}); !errors.Is(err, config.ErrFixed) {
		t.Error(err)
	}
}
