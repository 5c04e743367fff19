package web_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// levels reads the map of docs/architecture.md: the line that each package stands on.
func levels(t *testing.T) map[string]int {
	t.Helper()
	doc, err := os.ReadFile("../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
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
			if dep, ours := local(imp); ours && at[dep] <= from {
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

// offTheMap are tests, and tools of the build.
func offTheMap(path string) bool {
	switch path {
	case "web/attack", "web/chain", "web/history", "assets/notices", "release", "release/vet":
		return true
	}
	return strings.HasPrefix(path, "web/e2e/")
}

// TestEveryPackageSaysWhatItIsFor: a sentence above the package clause is where readers begin.
func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
	says := regexp.MustCompile(`(?m)^(// |/\*\n)(Package|Command) [a-z0-9_]+ (.*\n)+?(//.*\n)*package `)
	for _, p := range packages(t) {
		path, _ := local(p.ImportPath)
		files, err := filepath.Glob(filepath.Join("..", path, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			found = found || says.Match(text)
		}
		if !found {
			t.Errorf("%s: no file begins with a comment that says what belongs into the package", path)
		}
	}
}

// What a package and a file may have in lines, without tests and generated code. A package may
// have more if it is a flat list of alike things and its comment says "flat list" and why.
const (
	mostOfPackage = 4000
	mostOfFile    = 400
)

// outgrown are those that have more and are still to be split. Nothing is ever added here.
func outgrown() []string {
	return nil
}

func TestPackagesAndFilesStaySmall(t *testing.T) {
	known := outgrown()
	large := map[string]bool{}
	check := func(name string, lines, most int) {
		large[name] = lines > most
		if lines > most && !slices.Contains(known, name) {
			t.Errorf("%s has %d lines, more than %d: move what belongs together out of it", name, lines, most)
		}
	}
	for _, p := range packages(t) {
		path, _ := local(p.ImportPath)
		lines, flat := 0, false
		for name, text := range handWritten(t, path) {
			n := bytes.Count(text, []byte("\n"))
			check(name, n, mostOfFile)
			lines += n
			comment, _, _ := bytes.Cut(text, []byte("\npackage "))
			flat = flat || bytes.Contains(comment, []byte("flat list"))
		}
		if !flat {
			check(path, lines, mostOfPackage)
		}
	}
	for _, name := range known {
		if !large[name] {
			t.Errorf("%s is as small as it should be: take it off the list of this test", name)
		}
	}
}

// handWritten are the files of a package on all systems, by their paths in the repository.
func handWritten(t *testing.T, path string) map[string][]byte {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("..", path, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "_templ.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.ToSlash(filepath.Join(path, filepath.Base(name)))] = text
	}
	return all
}
