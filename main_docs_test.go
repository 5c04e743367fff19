package main

import (
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fawn/web"
)

// TestTheExamplesOfTheCommandLineWork: every block of the shell in these pages runs as it stands.
func TestTheExamplesOfTheCommandLineWork(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	for _, page := range []string{"docs/cli.md", "docs/backup.md"} {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			b, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			blocks := regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(b), -1)
			if len(blocks) == 0 {
				t.Fatal("there are none")
			}
			cmd := program(t, nil)
			bin, data := t.TempDir(), t.TempDir()
			if err := os.WriteFile(filepath.Join(bin, "fawn"), []byte("#!/bin/sh\nexec '"+cmd.Path+"' \"$@\"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
			s := serve(t, nil, "--data", data) // so that there is something to back up, and a server that has it
			call[any](t, s, "POST", "/threads", "{}")
			cmd.Env = append(cmd.Env, "FAWN_HOME="+data, "PATH="+bin+":"+os.Getenv("PATH"))
			cmd.Path, cmd.Args = bash, []string{"bash", "-eu"}
			var all strings.Builder
			for _, block := range blocks {
				if !strings.Contains(block[1], "fawn-v") { // a copy that only an update leaves
					all.WriteString(block[1])
				}
			}
			cmd.Stdin = strings.NewReader(all.String())
			if r := finished(t, cmd); r.code != 0 {
				t.Errorf("%+v", r)
			}
		})
	}
}

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
