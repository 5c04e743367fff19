package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestBashCompletes runs bash with the script that the program prints, as a shell does at a tab.
func TestBashCompletes(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	r := finished(t, program(t, nil, "completion", "bash"))
	if r.code != exitOK || r.stderr != "" {
		t.Fatalf("%+v", r)
	}
	script := file(t, "fawn.bash", r.stdout)
	for _, c := range []struct {
		line string // up to the cursor, behind the name of the program
		want []string
	}{
		{"se", []string{"serve"}},
		{"skills ", []string{"list", "doctor", "install"}},
		{"skills in", []string{"install"}},
		{"import --d", []string{"--data", "--dry-run"}},
		{"--ins", []string{"--insecure"}},
		{"completion ", []string{"bash", "zsh", "fish"}},
		{"doctor --config my", []string{"my file.yaml", "my folder"}},
		{"doctor --data ", []string{"my folder"}},
		{"import my", []string{"my folder"}},
		{"import --user ", nil},
		{"import x ", nil},
		{"nonsense ", nil},
	} {
		t.Run(c.line, func(t *testing.T) {
			words := append([]string{"fawn"}, strings.Split(c.line, " ")...)
			cmd := program(t, nil)
			self := cmd.Path
			for _, name := range []string{"my file.yaml", "my folder/x"} {
				if err := writeAt(filepath.Join(cmd.Dir, name)); err != nil {
					t.Fatal(err)
				}
			}
			cmd.Path, cmd.Args = bash, append([]string{"bash", "--norc", "-c", `source "$1"; shift; self=$1; shift
				fawn() { :; }; COMP_WORDS=("$self" "${@:2}"); COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
				compopt() { :; }
				_fawn && printf '%s\n' "${COMPREPLY[@]}"`, "bash", script, self}, words...)
			r := finished(t, cmd)
			got := strings.FieldsFunc(r.stdout, func(r rune) bool { return r == '\n' })
			slices.Sort(got)
			slices.Sort(c.want)
			if r.stderr != "" || !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q; %s", got, c.want, r.stderr)
			}
		})
	}
}

// TestEveryCommandCompletes: what the help lists is offered, and nothing else.
func TestEveryCommandCompletes(t *testing.T) {
	t.Parallel()
	for _, cmd := range commandTable() {
		words := strings.Fields(cmd.name)
		var b strings.Builder
		complete(&b, words)
		if !strings.HasPrefix(b.String(), words[len(words)-1]+"\t") {
			t.Errorf("%s is not offered: %q", cmd.name, b.String())
		}
		b.Reset()
		complete(&b, append(words, "--"))
		for line := range strings.Lines(b.String()) {
			name, about, _ := strings.Cut(strings.TrimSpace(line), "\t")
			if about == "" || !strings.Contains(usage(), "  "+name+" ") {
				t.Errorf("%s offers %q, which the help does not explain", cmd.name, line)
			}
		}
	}
}

func TestFlagsAndWordsStandInAnyOrder(t *testing.T) {
	t.Parallel()
	from := t.TempDir()
	for _, args := range [][]string{{"--dry-run", from}, {from, "--dry-run"}, {"--dry-run", "--", from}} {
		r := finished(t, program(t, nil, append([]string{"import"}, args...)...))
		if r.code != exitError || !strings.Contains(r.stderr, "there is no data/deerflow.db in "+from) {
			t.Errorf("%q: %+v", args, r)
		}
	}
	for _, c := range []struct{ line, want string }{
		{"import", "import needs the argument DIR"},
		{"import a b", `import takes no argument "b"`},
		{"skills", "skills needs one of these commands: list, doctor, install"},
		{"skills remove", `skills has no command "remove"; it has list, doctor, install`},
		{"completion csh", `completion takes bash|zsh|fish, not "csh"`},
	} {
		r := finished(t, program(t, nil, strings.Fields(c.line)...))
		if r.code != exitUsage || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%s: %+v", c.line, r)
		}
	}
}

// TestOtherShellsReadTheirCompletion: their own parsers find no fault.
func TestOtherShellsReadTheirCompletion(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"zsh", "fish"} {
		t.Run(shell, func(t *testing.T) {
			path, err := exec.LookPath(shell)
			if err != nil {
				t.Skip("there is no " + shell)
			}
			script := finished(t, program(t, nil, "completion", shell))
			if script.code != exitOK || script.stdout == "" {
				t.Fatalf("%+v", script)
			}
			out, err := exec.CommandContext(t.Context(), path, "-n", file(t, "script", script.stdout)).CombinedOutput()
			if err != nil || len(out) > 0 {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

// writeAt makes an empty file and the folders above it.
func writeAt(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, nil, 0o600)
}
