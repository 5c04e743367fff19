package web_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/web/webtest"
)

// sandboxed skips where no provider works, which CI does not accept.
func (s *server) sandboxed(t *testing.T) {
	t.Helper()
	h := decoded[struct {
		Sandbox struct{ Provider, Reason string }
	}](t, s.send(t, "GET", "/health", ""))
	if h.Sandbox.Provider != "off" {
		return
	}
	if os.Getenv("FAWN_CI") == "1" {
		t.Fatalf("no sandbox here: %s", h.Sandbox.Reason)
	}
	t.Skipf("no sandbox here: %s", h.Sandbox.Reason)
}

// bash runs commands through a chat and returns the texts of their results.
func (s *server) bash(t *testing.T, thread string, commands ...string) []string {
	t.Helper()
	type call struct {
		Name string            `json:"name"`
		Args map[string]string `json:"args"`
	}
	type turn struct {
		Text  string `json:"text,omitempty"`
		Calls []call `json:"tool_calls,omitempty"`
	}
	var turns []turn
	for _, c := range commands {
		turns = append(turns, turn{Calls: []call{{"bash", map[string]string{"description": "a test", "command": c}}}})
	}
	script, err := json.Marshal(map[string]any{"turns": append(turns, turn{Text: "done"})})
	must.Do(t, err)
	body, err := json.Marshal(map[string]any{"assistant_id": "lead_agent", "input": map[string]any{
		"messages": []any{map[string]any{"role": "user", "content": "SCRIPT" + string(script)}}}})
	must.Do(t, err)
	values := decoded[struct {
		Messages []struct{ Type, Content string }
	}](t, s.send(t, "POST", "/threads/"+thread+"/runs/wait", string(body)))
	var results []string
	for _, m := range values.Messages {
		if m.Type == "tool" {
			results = append(results, m.Content)
		}
	}
	if len(results) < len(commands) {
		t.Fatalf("%d results of %d commands: %+v", len(results), len(commands), values)
	}
	return results[len(results)-len(commands):]
}

func TestCommandsRunApartFromTheHost(t *testing.T) {
	t.Parallel()
	s := start(t, scripted(t))
	s.sandboxed(t)
	secret := filepath.Join(t.TempDir(), "secret")
	must.Do(t, os.WriteFile(secret, []byte("do not read me"), 0o600))
	got := s.bash(t, "box",
		"id -u; pwd; echo made > /mnt/user-data/outputs/made.txt; cat /mnt/user-data/outputs/made.txt",
		"cat "+secret+"; ls "+filepath.Dir(secret),
		"env | grep -c FAWN; ls /root 2>&1; touch /usr/x 2>&1; exit 3",
		"exec 3<>/dev/tcp/127.0.0.1/"+strings.TrimPrefix(s.url, "http://127.0.0.1:")+" && echo reached")
	if !strings.Contains(got[0], "/mnt/user-data/workspace") || !strings.Contains(got[0], "made") ||
		strings.HasPrefix(got[0], "0\n") {
		t.Errorf("a plain command: %q", got[0])
	}
	webtest.Holds(t, "a file of the host", got[1], "!do not read me", "Exit Code:")
	if !strings.HasPrefix(got[2], "0\n") || !strings.Contains(got[2], "Exit Code: 3") {
		t.Errorf("environment and system folders: %q", got[2])
	}
	webtest.Holds(t, "the server's own port", got[3], "!reached")
	webtest.Same(t, "the file a command made", s.send(t, "GET", "/api/threads/box/artifacts/mnt/user-data/outputs/made.txt", "").body, "made\n")
}

func TestDeletingAThreadEndsItsProcesses(t *testing.T) {
	t.Parallel()
	s := start(t, scripted(t))
	s.sandboxed(t)
	name := "sleep 98765.4321"
	s.bash(t, "doomed", "setsid "+name+" >/dev/null 2>&1 & disown; echo started")
	until(t, func() bool { return runningCommand(t, "98765.4321") }) // its shell may have ended before it began
	s.send(t, "DELETE", "/threads/doomed", "").fine(t, "delete")
	if runningCommand(t, "98765.4321") {
		t.Error("the background process outlived its thread")
	}
}

// runningCommand tells whether a process of this machine has the word in its command line.
func runningCommand(t *testing.T, word string) bool {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	must.Do(t, err)
	for _, path := range lines {
		if b, err := os.ReadFile(path); err == nil && strings.Contains(string(b), "sleep\x00"+word) {
			return true
		}
	}
	return false
}
