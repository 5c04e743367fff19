package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestThePatchesFitTheModulesOfThisVersion(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := write(root, "slim"); err != nil {
		t.Fatal(err)
	}
	for _, m := range modules {
		dir, err := run(root, "list", "-modfile=slim/go.mod", "-find", "-f", "{{.Dir}}", m.path)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range m.patches {
			text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(p.file)))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(text), p.new) {
				t.Errorf("%s/%s is built as it was, want %q in it", dir, p.file, p.new)
			}
		}
	}
}

func TestAPatchOfAnotherVersionIsAnError(t *testing.T) {
	for _, text := range []string{"package a\n", "package a\n\nvar x = 1\n\nvar x = 1\n"} {
		dir := t.TempDir()
		file := filepath.Join(dir, "a.go")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		err := patch{"a.go", "var x = 1\n", "var x = 2\n"}.apply(dir)
		if err == nil || !strings.Contains(err.Error(), "another version") {
			t.Errorf("%q: %v, want an error", text, err)
		}
		if got, _ := os.ReadFile(file); string(got) != text {
			t.Errorf("the file became %q", got)
		}
	}
}

func TestTheCopiesStayInTheRepository(t *testing.T) {
	for _, dir := range []string{"/tmp/slim", "../slim"} {
		if err := write(t.TempDir(), dir); err == nil {
			t.Errorf("%s was taken", dir)
		}
	}
}
