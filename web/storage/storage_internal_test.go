package storage

import (
	"os"
	"path/filepath"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/agent/config"
	"fawn/store"
)

// TestThePostgreSQLIsFound: by Fawn's key before DeerFlow's, and never by a variable alone.
func TestThePostgreSQLIsFound(t *testing.T) {
	for _, c := range []struct {
		file, variable, want string
		refused              bool
	}{
		{"{}", "", "", false},
		{"{}", "postgres://v/d", "", false},
		{"{backend: sqlite, postgres_url: postgres://h/d}", "", "", false},
		{"{url: postgres://u/d, backend: postgres, postgres_url: postgres://h/d}", "postgres://v/d", "postgres://u/d", false},
		{"{backend: postgres, postgres_url: postgresql+asyncpg://h/d}", "postgres://v/d", "postgresql://h/d", false},
		{"{backend: postgres}", "postgres://v/d", "postgres://v/d", false},
		{"{backend: postgres}", "", "", true},
		{"{url: mysql://h/d}", "", "", true},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "config.yaml")
		must.Do(t, os.WriteFile(path, []byte("database: "+c.file+"\n"), 0o600))
		s, err := config.Load(config.Options{Config: path, DataDir: dir, LookupEnv: func(name string) (string, bool) {
			return c.variable, name == "POSTGRES_URI"
		}})
		must.Do(t, err)
		if got, err := postgreSQL(s); got != c.want || (err != nil) != c.refused {
			t.Errorf("%s with %q: %q, %v, want %q", c.file, c.variable, got, err, c.want)
		}
	}
}

// TestServersJoinOthersWhenTheConfigurationSaysSo, and hear of them as it says.
func TestServersJoinOthersWhenTheConfigurationSaysSo(t *testing.T) {
	load := func(text string) *config.Snapshot {
		dir := t.TempDir()
		path := filepath.Join(dir, "config.yaml")
		must.Do(t, os.WriteFile(path, []byte("database: {url: postgres://h/d}\n"+text), 0o600))
		s, err := config.Load(config.Options{Config: path, DataDir: dir})
		must.Do(t, err)
		return s
	}
	for text, want := range map[string]store.Config{
		"": {},
		"cluster: {wake: poll}\nfiles: {dir: /f}\n":                {},
		"cluster: {enabled: true}\nfiles: {dir: /f}\n":             {Cluster: true},
		"cluster: {enabled: true, wake: poll}\nfiles: {dir: /f}\n": {Cluster: true, Wake: store.WakePoll},
	} {
		got, err := Join(load(text), t.TempDir())
		if err != nil || got.Cluster != want.Cluster || got.Wake != want.Wake {
			t.Errorf("%q: %v %q, %v", text, got.Cluster, got.Wake, err)
		}
	}
	shared, link := t.TempDir(), filepath.Join(t.TempDir(), "link")
	must.Do(t, os.Symlink(shared, link))
	d, err := Dirs(load("files: {dir: "+link+"}\n"), "/data")
	if real, _ := filepath.EvalSymlinks(shared); err != nil || d.Shared != real || d.Root != "/data" {
		t.Errorf("%+v, %v", d, err)
	}
	if _, err := Dirs(load("files: {dir: "+link+"/none}\n"), "/data"); err == nil {
		t.Error("a folder that is not there was taken")
	}
}
