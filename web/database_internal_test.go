package web

import (
	"os"
	"path/filepath"
	"testing"

	"fawn/agent/config"
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
		if err := os.WriteFile(path, []byte("database: "+c.file+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := config.Load(config.Options{Config: path, DataDir: dir, LookupEnv: func(name string) (string, bool) {
			return c.variable, name == "POSTGRES_URI"
		}})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := postgreSQL(s); got != c.want || (err != nil) != c.refused {
			t.Errorf("%s with %q: %q, %v, want %q", c.file, c.variable, got, err, c.want)
		}
	}
}
