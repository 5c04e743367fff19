package main

import (
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/web"
)

// TestThePageOfTheCommandLineIsTrue: the commands it lists are there with their flags, and run has all of its.
func TestThePageOfTheCommandLineIsTrue(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	flags := map[string][]string{}
	for _, cmd := range commandTable() {
		c, _ := newInvocation(t.Context(), cmd, new(web.Options), io.Discard, io.Discard)
		name := strings.TrimSpace("fawn " + cmd.name + " " + strings.ReplaceAll(cmd.args, "|", `\|`))
		flags[name] = []string{}
		c.VisitAll(func(f *flag.Flag) {
			flags[name] = append(flags[name], "--"+f.Name)
			if cmd.name == "run" && !strings.Contains(string(b), "`--"+f.Name) {
				t.Errorf("there is nothing about --%s", f.Name)
			}
		})
	}
	lines := 0
	for _, m := range regexp.MustCompile("(?m)^\\| `(fawn [^`]+)` \\| .* \\| (.*?) ?\\|$").FindAllStringSubmatch(string(b), -1) {
		have, ok := flags[m[1]]
		if !ok {
			t.Errorf("there is no command %q", m[1])
		}
		for _, f := range regexp.MustCompile("`(--[a-z-]+)`").FindAllStringSubmatch(m[2], -1) {
			if !slices.Contains(have, f[1]) {
				t.Errorf("%s has no flag %s", m[1], f[1])
			}
		}
		lines++
	}
	if lines < 12 {
		t.Errorf("the table has %d commands", lines)
	}
}

// TestTheExamplesOfTheConfigurationAreTaken: every block of YAML in README and docs is what the
// program reads, without a key that it doesn't know.
func TestTheExamplesOfTheConfigurationAreTaken(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := 0
	for _, file := range append(files, "README.md") {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(b), -1) {
			text := m[1]
			if strings.HasPrefix(text, "# prometheus.yml") { // of another program
				continue
			}
			if strings.HasPrefix(text, "- {name: ") { // an entry to copy
				text = "models:\n" + text
			}
			blocks++
			conf := filepath.Join(t.TempDir(), "config.yaml")
			if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := config.Load(config.Options{Config: conf, DataDir: t.TempDir(), Classes: lead.Classes(),
				LookupEnv: func(name string) (string, bool) { return "set", strings.Contains(text, "$"+name) }})
			if err != nil {
				t.Errorf("%s: %v\n%s", file, err, text)
			} else if len(s.Warnings)+len(s.Disabled) > 0 {
				t.Errorf("%s: %v %v\n%s", file, s.Warnings, s.Disabled, text)
			}
		}
	}
	if blocks < 20 {
		t.Errorf("there are only %d", blocks)
	}
}
