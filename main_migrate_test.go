//go:build unix

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fawn/store/pgtest"
)

// TestRowsMoveToAFolderThatIsMissing: it is made with those above it, but not to see whether the move would work, and a
// server goes on there.
func TestRowsMoveToAFolderThatIsMissing(t *testing.T) {
	t.Parallel()
	data, to := t.TempDir(), filepath.Join(t.TempDir(), "new", "data")
	conf := configured(t, fmt.Sprintf("database: {url: %q}", pgtest.Storage(t)))
	s := serve(t, nil, "--data", data, "--config", conf)
	call[any](t, s, "POST", "/threads/t1/runs/wait", input("echo 5 tokens at 0 tok/s"))
	said := messages(t, s, "t1")
	s.end(t, os.Interrupt)
	migrate := func(more ...string) result {
		return finished(t, program(t, nil, append([]string{"migrate", "--data", data, "--config", conf, "--to", "sqlite:" + to}, more...)...))
	}
	if r := migrate("--dry-run"); r.code != exitOK || !strings.Contains(r.stdout, "Nothing was changed.") || r.stderr != "" {
		t.Errorf("to see whether it works: exit code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	if _, err := os.Stat(filepath.Dir(to)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("and yet there is a folder: %v", err)
	}
	if r := migrate(); r.code != exitOK || !strings.Contains(r.stdout, "to SQLite in "+to) || r.stderr != "" {
		t.Fatalf("exit code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	for _, name := range []string{to, filepath.Join(to, "fawn.db")} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	s = serve(t, nil, "--data", to, "--config", configured(t))
	if got := messages(t, s, "t1"); got != said || !strings.Contains(got, "ai:") {
		t.Errorf("the chat says\n%s\nbefore\n%s", got, said)
	}
	if r := migrate(); r.code != exitError || !strings.Contains(r.stderr, "has been moved to SQLite in "+to) {
		t.Errorf("once more: exit code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
}

// TestABadTargetOfAMoveSaysWhatToName, and changes nothing.
func TestABadTargetOfAMoveSaysWhatToName(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	serve(t, nil, "--data", data).end(t, os.Interrupt)
	taken := file(t, "taken", "x")
	pg := file(t, "config.yaml", "database: {url: 'postgres://fawn@127.0.0.1:1/fawn'}")
	for _, c := range []struct{ to, conf, want string }{
		{"sqlite:", "", "--to: name a folder as sqlite:DIR; it may be missing"},
		{"mysql://x/y", "", "--to: name a database as postgres://user@host/name, or a folder as sqlite:DIR"},
		{"sqlite:" + taken, pg, taken + " is a file; name a folder as sqlite:DIR"},
		{"sqlite:" + taken + "/below/it", pg, taken + " is a file; name a folder as sqlite:DIR"},
		{"sqlite:~/data", pg, "write the full path"},
		{"sqlite:" + filepath.Join(data, "new"), "", "the rows are in SQLite already, in " + data},
	} {
		args := []string{"migrate", "--data", data, "--to", c.to}
		if c.conf != "" {
			args = append(args, "--config", c.conf)
		}
		r := finished(t, program(t, nil, args...))
		if r.code != exitError || !strings.Contains(r.stderr, c.want) || strings.Count(r.stderr, "\n") != 1 || r.stdout != "" {
			t.Errorf("%s: exit code %d, want %q\n%s%s", c.to, r.code, c.want, r.stdout, r.stderr)
		}
	}
	for _, left := range []string{filepath.Join(data, "new"), "~"} {
		if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s was made: %v", left, err)
		}
	}
}
