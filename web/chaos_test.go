package web_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"fawn/agent/mcp/mcptest"
	"fawn/web"
	"fawn/web/webtest"
)

// chaos are servers that do harm, one of each kind.
func chaos() map[string]any {
	all := map[string]any{}
	for _, kind := range mcptest.Kinds() {
		limit := 60
		if kind == "hangs" || kind == "floods" {
			limit = 3
		}
		all[kind] = map[string]any{"command": os.Args[0], "args": []string{mcpServerArg, kind},
			"session_init_timeout": limit, "env": map[string]string{"API_TOKEN": mcpCanary}}
	}
	return all
}

// toolServers is how the MCP servers are, by name.
func (s *server) toolServers(t *testing.T) map[string]mcpStatus {
	t.Helper()
	out := map[string]mcpStatus{}
	for _, one := range decoded[struct{ Servers []mcpStatus }](t, s.send(t, "GET", "/api/mcp/status", "")).Servers {
		out[one.Name] = one
	}
	return out
}

type mcpStatus struct {
	Name, State, Error string
	Tools, Withheld    []struct{ Name string }
	Skipped            []string
	Log                []struct{ Text string }
}

// TestARunAmongBrokenServers: whatever servers do, a run ends well, and what failed is told in words.
func TestARunAmongBrokenServers(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	servers := chaos()
	servers["notes"] = notesServer()
	extensions(t, data, servers)
	s := start(t, scripted(t), func(o *web.Options) { o.Data = data })
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		now, ready := s.toolServers(t), 0
		for _, name := range []string{"notes", "falls", "huge", "shouts", "names", "restless"} {
			if len(now[name].Tools) > 0 {
				ready++
			}
		}
		if ready == 6 && now["dies"].State == "failed" {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the servers are %+v", now)
		}
	}
	calls := []struct{ name, says string }{
		{"falls_fall", "stopped during the call, which may have had effects: it has ended; it said: out of memory"},
		{"huge_huge", "stopped during the call, which may have had effects: it sent a message larger than 32 MiB"},
		{"shouts_whisper", "done"}, {"names_fine", "done"}, {"hangs_any", "there is no tool named"},
		{"notes_tell", "in /mnt/user-data/workspace"},
	}
	var list []string
	for _, c := range calls {
		list = append(list, fmt.Sprintf(`{"name":%q,"args":{}}`, c.name))
	}
	script := `SCRIPT{"turns":[{"tool_calls":[` + strings.Join(list, ",") + `]},{"text":"All tried."}]}`
	values := decoded[struct {
		Messages []struct{ Type, Name, Content string }
	}](t, s.send(t, "POST", "/threads/one/runs/wait", human(script)))
	said := map[string]string{}
	for _, m := range values.Messages {
		said[m.Name] = m.Content
	}
	for _, c := range calls {
		webtest.Holds(t, fmt.Sprintf("%s says , not %q", c.name, c.says), said[c.name], c.says)
	}
	if last := values.Messages[len(values.Messages)-1]; last.Content != "All tried." {
		t.Errorf("the run ends with %+v", last)
	}
	s.tellsOfBroken(t)
}

// tellsOfBroken compares what the owner is told of the servers.
func (s *server) tellsOfBroken(t *testing.T) {
	t.Helper()
	now := s.toolServers(t)
	if dies := now["dies"]; !strings.Contains(dies.Error, "cannot find my configuration, token ****") {
		t.Errorf("of a server that dies: %+v", dies)
	}
	if names := now["names"]; len(names.Tools) != 8 || len(names.Skipped) != 2 {
		t.Errorf("of a server with odd names: %d tools, %d skipped: %+v", len(names.Tools), len(names.Skipped), names)
	}
	end := time.Now().Add(patience)
	for ; len(s.toolServers(t)["restless"].Withheld) == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("of a server that changes its tools: %+v", s.toolServers(t)["restless"])
		}
	}
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		now = s.toolServers(t)
		if strings.Contains(now["hangs"].Error, "did not answer within 3s") &&
			strings.Contains(now["floods"].Error, "did not answer within 3s") {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("of servers that hang: %+v, %+v", now["hangs"], now["floods"])
		}
	}
	for name, one := range now {
		if b, err := json.Marshal(one); err != nil || len(b) > 1<<20 {
			t.Errorf("the status of %s has %d bytes, %v", name, len(b), err)
		}
	}
	webtest.Holds(t, "the log", s.log.String(), "!"+mcpCanary)
}
