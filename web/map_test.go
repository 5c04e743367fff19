package web_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
)

// levels reads the map of docs/architecture.md: the line that each package stands on.
func levels(t *testing.T) map[string]int {
	t.Helper()
	doc, err := os.ReadFile("../docs/architecture.md")
	must.Do(t, err)
	_, rest, _ := strings.Cut(string(doc), "## Packages\n\n```\n")
	drawn, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("docs/architecture.md has no map under Packages")
	}
	at := map[string]int{}
	for n, line := range strings.Split(drawn, "\n") {
		for name := range strings.SplitSeq(line, "  ") {
			if name = strings.TrimSpace(name); !regexp.MustCompile(`^[a-z0-9]+(/[a-z0-9]+)*$`).MatchString(name) {
				continue // what a package is for, or a rule between layers
			}
			if _, twice := at[name]; twice {
				t.Errorf("%s stands on the map twice", name)
			}
			at[name] = n
		}
	}
	return at
}

func TestTheMapIsTheCode(t *testing.T) {
	t.Parallel()
	at := levels(t)
	seen := map[string]bool{}
	for _, p := range packages(t) {
		path, _ := local(p.ImportPath)
		if path == "." {
			path = "main"
		}
		from, drawn := at[path]
		seen[path] = true
		if !drawn {
			if !offTheMap(path) {
				t.Errorf("%s is not on the map of docs/architecture.md", path)
			}
			continue
		}
		for _, imp := range p.Imports {
			if dep, ours := local(imp); ours && !offTheMap(dep) && at[dep] <= from {
				t.Errorf("%s imports %s, which stands beside or above it on the map of docs/architecture.md", path, dep)
			}
		}
	}
	for path := range at {
		if seen[path] {
			continue
		}
		t.Errorf("%s stands on the map of docs/architecture.md, but there is no such package", path)
	}
}

// offTheMap reports whether a package is a test, a kit of tests or a tool of the build.
func offTheMap(path string) bool {
	switch path {
	case "web/attack", "web/chain", "web/history", "web/webtest", "assets/notices", "release", "release/vet":
		return true
	}
	return strings.HasPrefix(path, "web/e2e/")
}

// TestEveryPackageSaysWhatItIsFor: a sentence above the package clause is where readers begin.
func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
	t.Parallel()
	says := regexp.MustCompile(`(?m)^(// |/\*\n)(Package|Command) [a-z0-9_]+ (.*\n)+?(//.*\n)*package `)
	for _, p := range packages(t) {
		path, _ := local(p.ImportPath)
		files, err := filepath.Glob(filepath.Join("..", path, "*.go"))
		must.Do(t, err)
		found := false
		for _, name := range files {
			text, err := os.ReadFile(name)
			must.Do(t, err)
			found = found || says.Match(text)
		}
		if !found {
			t.Errorf("%s: no file begins with a comment that says what belongs into the package", path)
		}
	}
}
