package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
)

// What only another system builds is vetted, in tests too, and packages with errors don't pass.
func TestOtherSystemsAreVetted(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("go.mod", "module example\n\ngo 1.26\n")
	write("all.go", "package example\n\nfunc All() {}\n")
	write("pipe_windows.go", "package example\n\nimport \"fmt\"\n\nfunc Pipe() { fmt.Printf(\"%d\\n\", \"x\") }\n")
	write("pipe_windows_test.go", "package example\n\nimport \"testing\"\n\nfunc TestPipe(t *testing.T) { t.Errorf(\"%d\", \"x\") }\n")
	found, err := check("linux/amd64", dir, "./...")
	if err != nil || len(found) != 0 {
		t.Errorf("linux: %q, %v", found, err)
	}
	found, err = check("windows/arm64", dir, "./...")
	if err != nil || len(found) != 2 ||
		!strings.Contains(found[0], "pipe_windows.go:5") || !strings.Contains(found[1], "pipe_windows_test.go:5") {
		t.Errorf("windows: %q, %v", found, err)
	}
	write("pipe_windows.go", "package example\n\nfunc Pipe() int { return missing }\n")
	if _, err := check("windows/arm64", dir, "./..."); err == nil {
		t.Error("a package that doesn't compile passes")
	}
}
