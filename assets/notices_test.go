package assets_test

import (
	"os/exec"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/assets"
)

// What is built in has a licence that is told: the modules of the binary as Go lists them,
// and the files of others in this repository.
func TestNoticesNameEverythingBuiltIn(t *testing.T) {
	have := map[string]string{}
	for _, n := range assets.Notices() {
		if n.License == "" {
			t.Errorf("%s has no licence", n.Name)
		}
		have[n.Name] = n.Version
	}
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f",
		"{{with .Module}}{{if .Version}}{{.Path}}\t{{.Version}}{{end}}{{end}}", "..")
	out := must.Get(cmd.Output())(t)
	modules := 0
	for line := range strings.Lines(string(out)) {
		path, version, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if !ok {
			continue
		}
		modules++
		if have[path] != version {
			t.Errorf("%s %s: notices.txt has %q; run make generate", path, version, have[path])
		}
	}
	if modules == 0 {
		t.Fatal("go list names no module")
	}
	text := get(t, assets.URL(assets.NoticesText)).Body.String()
	for _, want := range []string{"Copyright (c) 2009 The Go Authors", "Knut Sveidqvist", "SIL OPEN FONT LICENSE",
		"Ron Kok", "Cole Bemis", "Cure53", "STIX Fonts Project"} {
		if !strings.Contains(text, want) && !strings.Contains(text, strings.Replace(want, "(c) ", "", 1)) {
			t.Errorf("the texts do not have %q", want)
		}
	}
}
