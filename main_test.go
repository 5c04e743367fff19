package main

import (
	"strings"
	"testing"
)

func TestCommandLine(t *testing.T) {
	tests := []struct {
		name           string
		args           []string
		code           int
		stdout, stderr string
	}{
		{"version", []string{"version"}, exitOK, "fawn ", ""},
		{"version flag", []string{"--version"}, exitOK, "fawn ", ""},
		{"version takes the flags of all", []string{"version", "--data", "x", "--config", "y"}, exitOK, "fawn ", ""},
		{"help", []string{"help"}, exitOK, "Usage: fawn", ""},
		{"help flag", []string{"serve", "-h"}, exitOK, "Usage: fawn serve [flags]", ""},
		{"help flag alone", []string{"--help"}, exitOK, "Usage: fawn [command] [flags]", ""},
		{"help of a command", []string{"help", "backup", "verify"}, exitOK, "Usage: fawn backup verify FILE [flags]", ""},
		{"unknown command", []string{"server"}, exitUsage, "", `there is no command "server"`},
		{"unknown flag", []string{"--port", "1"}, exitUsage, "", "there is no flag --port"},
		{"flag of another command", []string{"version", "--addr", ":1"}, exitUsage, "", "-addr"},
		{"argument", []string{"serve", "x"}, exitUsage, "", `serve takes no argument "x"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var stdout, stderr strings.Builder
			if code := run(t.Context(), tt.args, &stdout, &stderr); code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			if !strings.HasPrefix(stdout.String(), tt.stdout) || (tt.stdout == "") != (stdout.Len() == 0) {
				t.Errorf("stdout %q, want %q", stdout.String(), tt.stdout)
			}
			if !strings.Contains(stderr.String(), tt.stderr) || (tt.stderr == "") != (stderr.Len() == 0) {
				t.Errorf("stderr %q, want %q", stderr.String(), tt.stderr)
			}
			if tt.code == exitUsage && !strings.Contains(stderr.String(), "Usage: fawn") {
				t.Errorf("no usage in %q", stderr.String())
			}
		})
	}
}

// TestTheHelpOfACommandIsItsOwn: it names its flags and the commands below it, and none of another command.
func TestTheHelpOfACommandIsItsOwn(t *testing.T) {
	var stdout, stderr strings.Builder
	if code := run(t.Context(), []string{"eval", "--help"}, &stdout, &stderr); code != exitOK {
		t.Fatal(code, stderr.String())
	}
	help := stdout.String()
	for _, want := range []string{"Usage: fawn eval DIR [flags]", "eval make DIR", "--data DIR", "--config FILE"} {
		if !strings.Contains(help, want) {
			t.Errorf("no %q in %s", want, help)
		}
	}
	for _, other := range []string{"--addr", "support-bundle", "--apparmor"} {
		if strings.Contains(help, other) {
			t.Errorf("%q in %s", other, help)
		}
	}
	for _, args := range [][]string{{"help", "knowledge"}, {"knowledge", "--help"}} { // a word of several commands
		stdout.Reset()
		if code := run(t.Context(), args, &stdout, &stderr); code != exitOK || !strings.Contains(stdout.String(), "knowledge search NAME QUERY") ||
			strings.Contains(stdout.String(), "support-bundle") {
			t.Errorf("%q: %d %s", args, code, stdout.String())
		}
	}
}
