package main

import (
	"encoding/json"
	"flag"
	"io"
	"os"
	"path"
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
	for _, m := range regexp.MustCompile("(?m)^\\| `(fawn [^`]+)` \\| .* \\| (.*?) ?\\|$").
		FindAllStringSubmatch(string(b), -1) {
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

// manuals are the texts for people by file: README, docs and what stands beside them.
func manuals(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all[file] = string(b)
		}
	}
	return all
}

// block is one between fences, with the word that says what it is.
func block() *regexp.Regexp { return regexp.MustCompile("(?ms)^ *```(\\w*)[^\n]*\n(.*?)^ *```") }

// TestTheExamplesOfTheConfigurationAreTaken: every block of YAML and JSON in README and docs is what the
// program reads, without a key that it doesn't know.
func TestTheExamplesOfTheConfigurationAreTaken(t *testing.T) {
	t.Parallel()
	blocks := 0
	for file, manual := range manuals(t) {
		for _, m := range block().FindAllStringSubmatch(manual, -1) {
			dir, name, text := t.TempDir(), "", m[2]
			switch kind := m[1]; {
			case strings.HasPrefix(text, "# prometheus.yml"), strings.HasPrefix(text, "# librechat.yaml"): // of another program
				continue
			case kind == "json" && strings.Contains(text, "agent_servers"): // of editors, which start this program
				editorSettings(t, file, text)
				blocks++
				continue
			case kind == "yaml" && strings.HasPrefix(text, "- {name: "): // an entry to copy
				name, text = "config.yaml", "models:\n"+text
			case kind == "yaml":
				name = "config.yaml"
			case kind == "json" && !strings.Contains(text, "mcpServers"): // an entry to copy
				name, text = "extensions_config.json", `{"mcpServers": {"docs": `+text+`}}`
			case kind == "json":
				name = "extensions_config.json"
			default:
				continue
			}
			blocks++
			conf := filepath.Join(dir, "config.yaml")
			for _, f := range [][2]string{{"config.yaml", ""}, {name, text}} {
				if err := os.WriteFile(filepath.Join(dir, f[0]), []byte(f[1]), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			s, err := config.Load(config.Options{Config: conf, DataDir: dir, Classes: lead.Classes(),
				LookupEnv: func(name string) (string, bool) { return "set", strings.Contains(text, "$"+name) }})
			switch {
			case err != nil:
				t.Errorf("%s: %v\n%s", file, err, text)
			case len(s.Warnings)+len(s.Disabled) > 0:
				t.Errorf("%s: %v %v\n%s", file, s.Warnings, s.Disabled, text)
			case filepath.Ext(name) == ".json" && len(s.Extensions.MCPServers) == 0:
				t.Errorf("%s: no server was read from\n%s", file, text)
			}
		}
	}
	if blocks < 20 {
		t.Errorf("there are only %d", blocks)
	}
}

// editorSettings checks that an editor would start a command that is there, with flags that it has.
func editorSettings(t *testing.T, file, text string) {
	t.Helper()
	var settings struct {
		Agents map[string]struct {
			Command string
			Args    []string
		} `json:"agent_servers"`
	}
	if err := json.Unmarshal([]byte(text), &settings); err != nil || len(settings.Agents) == 0 {
		t.Errorf("%s: %v\n%s", file, err, text)
	}
	for _, a := range settings.Agents {
		cmd, rest, err := find(a.Args)
		if err == nil {
			c, _ := newInvocation(t.Context(), cmd, new(web.Options), io.Discard, io.Discard)
			err = c.parse(cmd, rest)
		}
		if err != nil || path.Base(a.Command) != "fawn" || cmd.name != "acp" {
			t.Errorf("%s: %v\n%s", file, err, text)
		}
	}
}

// TestCommandsNamedInTextExist: what README and docs call by name in the middle of a sentence is there, with its
// flags: commands of fawn, targets of make, and packages with their tests.
func TestCommandsNamedInTextExist(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for file, manual := range manuals(t) {
		text := block().ReplaceAllString(manual, "")
		for _, m := range regexp.MustCompile("`(fawn|make|go (?:run|test)) ([^`]+)`").FindAllStringSubmatch(text, -1) {
			program, words := m[1], strings.Fields(m[2])
			var missing string
			switch program {
			case "fawn":
				missing = unknownCommand(t, words)
			case "make":
				missing = unknownTarget(string(makefile), words)
			default:
				missing = unknownTest(t, words)
			}
			if named++; missing != "" {
				t.Errorf("%s names %s %s: there is no %s", file, program, m[2], missing)
			}
		}
	}
	if named < 50 {
		t.Errorf("there are only %d", named)
	}
}

// unknownCommand is what of the words behind "fawn" is no command and no flag of it.
func unknownCommand(t *testing.T, words []string) string {
	t.Helper()
	if words[0] == "help" || words[0] == "skilltool" {
		return ""
	}
	table := commandTable()
	find := func(name string) int { return slices.IndexFunc(table, func(c command) bool { return c.name == name }) }
	at := find(strings.Join(words[:min(2, len(words))], " "))
	if at < 0 {
		at = find(words[0])
	}
	group := func(c command) bool { return strings.HasPrefix(c.name, words[0]+" ") }
	if at < 0 && len(words) == 1 && slices.ContainsFunc(table, group) { // "fawn user" is all that begin so
		return ""
	}
	if at < 0 {
		return words[0]
	}
	c, _ := newInvocation(t.Context(), table[at], new(web.Options), io.Discard, io.Discard)
	for _, word := range words {
		if name, is := strings.CutPrefix(word, "--"); is && c.Lookup(strings.Split(name, "=")[0]) == nil {
			return word
		}
	}
	return ""
}

// unknownTarget is a word behind "make", up to the next command, that the Makefile doesn't have.
func unknownTarget(makefile string, words []string) string {
	for _, word := range words {
		if word == "&&" {
			break
		}
		if !strings.Contains(makefile, "\n"+word+": ") && !strings.Contains(word, "=") {
			return word
		}
	}
	return ""
}

// unknownTest is what of the words behind "go run" and "go test" is no package or no test of it.
func unknownTest(t *testing.T, words []string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(words[0], "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		return words[0]
	}
	for i, word := range words[:len(words)-1] {
		if word != "-run" && word != "-bench" {
			continue
		}
		is := regexp.MustCompile(`(?m)^func (Test|Benchmark)\w*` +
			regexp.QuoteMeta(strings.TrimPrefix(words[i+1], "Test")))
		if !slices.ContainsFunc(files, func(file string) bool {
			b, err := os.ReadFile(file)
			return err == nil && is.Match(b)
		}) {
			return words[i+1]
		}
	}
	return ""
}
