package config_test

import (
	"path/filepath"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/agent/config"
)

func TestFindTakesTheFirstPlace(t *testing.T) {
	root := t.TempDir()
	t.Chdir(root)
	t.Setenv("FAWN_CONFIG", "")
	t.Setenv("DEER_FLOW_CONFIG_PATH", "")
	data := filepath.Join(root, "data")
	steps := []struct {
		name  string
		do    func()
		flag  string
		want  string
		found bool
	}{
		{"nothing", func() {}, "", "", false},
		{"data folder", func() { write(t, root, files{"data/config.yaml": ""}) }, "", filepath.Join(data, "config.yaml"), true},
		{"working folder", func() { write(t, root, files{"config.yaml": ""}) }, "", "config.yaml", true},
		{"older variable", func() { t.Setenv("DEER_FLOW_CONFIG_PATH", "/b") }, "", "/b", true},
		{"variable", func() { t.Setenv("FAWN_CONFIG", "/a") }, "", "/a", true},
		{"flag", func() {}, "/flag", "/flag", true},
	}
	for _, step := range steps {
		step.do()
		if got, found := config.Find(step.flag, data); got != step.want || found != step.found {
			t.Errorf("%s: %q %v, want %q %v", step.name, got, found, step.want, step.found)
		}
	}
}

func TestDataDirTakesTheFirstPlace(t *testing.T) {
	t.Setenv("FAWN_HOME", "/fawn")
	t.Setenv("DEER_FLOW_HOME", "/deer")
	t.Setenv("XDG_DATA_HOME", "/xdg")
	steps := []struct{ name, flag, unset, want string }{
		{"flag", "/flag", "", "/flag"},
		{"FAWN_HOME", "", "", "/fawn"},
		{"DEER_FLOW_HOME", "", "FAWN_HOME", "/deer"},
	}
	for _, step := range steps {
		if step.unset != "" {
			t.Setenv(step.unset, "")
		}
		want := must.Get(filepath.Abs(step.want))(t)
		if got, err := config.DataDir(step.flag); err != nil || got != want {
			t.Errorf("%s: %q %v, want %q", step.name, got, err, want)
		}
	}
	t.Setenv("DEER_FLOW_HOME", "")
	if got, err := config.DataDir(""); err != nil || !filepath.IsAbs(got) {
		t.Errorf("the user's folder: %q %v", got, err)
	}
}

func TestExtensionsAreFoundBesideTheConfiguration(t *testing.T) {
	o, root := setup(t, files{"config.yaml": "", "extensions_config.json": "{}", "data/extensions_config.json": "{}",
		"other.json": "{}"}, nil)
	s, err := config.Load(o)
	if err != nil || s.ExtensionsPath != filepath.Join(root, "extensions_config.json") {
		t.Errorf("beside: %v %v", s, err)
	}
	o.LookupEnv = func(name string) (string, bool) {
		return filepath.Join(root, "other.json"), name == "DEER_FLOW_EXTENSIONS_CONFIG_PATH"
	}
	if s, err = config.Load(o); err != nil || s.ExtensionsPath != filepath.Join(root, "other.json") {
		t.Errorf("variable: %v %v", s, err)
	}
}

func TestAFolderInPlaceOfTheFileIsTold(t *testing.T) {
	o, _ := setup(t, files{"data/config.yaml/x": ""}, nil)
	s, err := config.Load(o)
	if err != nil || len(s.Warnings) != 1 ||
		!strings.HasSuffix(s.Warnings[0].String(), "config.yaml: this is a folder, not a file; it is ignored") {
		t.Errorf("got %v, %v", s, err)
	}
	o, root := setup(t, files{"config.yaml": "title: {max_words: 2}\n", ".env/bin/python": ""}, nil)
	if s, err = config.Load(o); err != nil || s.File.Title.MaxWords != 2 {
		t.Errorf("a folder .env in %s: %v", root, err)
	}
	o.Config = root
	if _, err = config.Load(o); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a folder as --config: %v", err)
	}
}

func TestVariablesThatActByThemselvesYieldToFiles(t *testing.T) {
	env := map[string]string{"DEER_FLOW_SKILLS_PATH": "/skills", "DEERFLOW_WRITE_FILE_MAX_BYTES": "5",
		"GATEWAY_CORS_ORIGINS": "https://b.example"}
	s := load(t, nil, env)
	if f := s.File; f.Skills.Path != "/skills" || f.Sandbox.WriteFileMaxBytes != 5 || len(f.Server.CORSOrigins) != 1 {
		t.Errorf("got %q, %d, %v", f.Skills.Path, f.Sandbox.WriteFileMaxBytes, f.Server.CORSOrigins)
	}
	if o := s.Origin("skills.path"); o.Source != "environment" || o.Variable != "DEER_FLOW_SKILLS_PATH" {
		t.Errorf("origin: %+v", o)
	}
	s = load(t,
		files{"config.yaml": "skills: {path: /own}\nsandbox: {write_file_max_bytes: 0}\nserver: {cors_origins: ['https://a.example']}\n"}, env)
	f := s.File
	if f.Skills.Path != "/own" || f.Sandbox.WriteFileMaxBytes != 0 ||
		strings.Join(f.Server.CORSOrigins, " ") != "https://a.example https://b.example" {
		t.Errorf("with a file: %q, %d, %v", f.Skills.Path, f.Sandbox.WriteFileMaxBytes, f.Server.CORSOrigins)
	}
}
