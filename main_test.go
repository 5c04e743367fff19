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
		{"help flag", []string{"serve", "-h"}, exitOK, "Usage: fawn", ""},
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
