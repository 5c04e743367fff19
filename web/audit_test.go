package web_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"fawn/web/webtest"
)

// networked skips where sandboxes have no way out, which CI does not accept.
func (s *server) networked(t *testing.T) {
	t.Helper()
	s.sandboxed(t)
	h := decoded[struct{ Sandbox struct{ Provider string } }](t, s.send(t, "GET", "/health", ""))
	if h.Sandbox.Provider == "namespace" || h.Sandbox.Provider == "docker" {
		return
	}
	if os.Getenv("FAWN_CI") == "1" {
		t.Fatalf("sandboxes of the provider %s have no network", h.Sandbox.Provider)
	}
	t.Skipf("sandboxes of the provider %s have no network", h.Sandbox.Provider)
}

// knock is a command that asks the proxy of a sandbox for a host and prints the answer.
func knock(host string) string {
	return fmt.Sprintf(`d=tcp; exec 3<>/dev/$d/127.0.0.1/3128 && printf 'CONNECT %s:443 HTTP/1.1\r\nHost: %s:443\r\n\r\n' >&3 && head -n 1 <&3`, host, host)
}

// auditOf reads audit rows at a path once there are at least n, newest first.
func (s *server) auditOf(t *testing.T, path string, n int) (rows []map[string]any) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		rows = decoded[struct{ Rows []map[string]any }](t, s.send(t, "GET", path, "")).Rows
		if len(rows) >= n {
			return rows
		}
		if time.Now().After(end) {
			t.Fatalf("%d rows at %s, want %d: %v", len(rows), path, n, rows)
		}
	}
}

// fields are some members of a row as one line.
func fields(row map[string]any, names ...string) string {
	var out []string
	for _, n := range names {
		out = append(out, fmt.Sprint(row[n]))
	}
	return strings.Join(out, " ")
}

func TestEveryCommandConnectionAndRefusedPathIsAudited(t *testing.T) {
	t.Parallel()
	s := start(t, scripted(t))
	s.networked(t)
	s.bash(t, "aud", "echo hello; exit 3", "rm -rf /", knock("audit.invalid"))
	s.tool(t, "aud", "read_file", `{"path":"/etc/passwd"}`)

	rows := s.auditOf(t, "/api/threads/aud/audit", 5)
	byKind := map[string][]map[string]any{}
	for _, r := range rows {
		byKind[r["kind"].(string)] = append(byKind[r["kind"].(string)], r)
		if r["thread_id"] != "aud" || r["run_id"] == nil || r["at"] == nil || r["id"] == nil {
			t.Errorf("a row without its origin: %v", r)
		}
	}
	commands := map[string]map[string]any{}
	for _, r := range byKind["command"] {
		commands[r["command"].(string)] = r
		if r["call_id"] == "" || r["tool"] != "bash" || len(fmt.Sprint(r["sha256"])) != 64 {
			t.Errorf("a command: %v", r)
		}
	}
	got := fields(commands["echo hello; exit 3"], "verdict", "exit", "bytes", "cwd")
	webtest.Same(t, "the command that ran", got, "pass 3 6 /mnt/user-data/workspace")
	if r := commands["echo hello; exit 3"]; r["provider"] == nil || r["layers"] == nil || r["ms"] == nil {
		t.Errorf("the command that ran: %v", r)
	}
	if r := commands["rm -rf /"]; fields(r, "verdict", "provider") != "block <nil>" || r["reason"] == nil {
		t.Errorf("the refused command: %v", r)
	}
	r := byKind["egress"]
	if len(r) != 1 || fields(r[0], "host", "port", "verdict", "bytes_out") != "audit.invalid 443 ask 0" {
		t.Errorf("connections: %v", r)
	}
	if r := byKind["path"]; len(r) != 1 || fields(r[0], "path", "tool", "verdict") != "/etc/passwd read_file block" {
		t.Errorf("paths: %v", r)
	}

	webtest.Same(t, "one kind of all threads", len(s.auditOf(t, "/api/audit?kind=path", 1)), 1)
	page := decoded[struct {
		Rows []map[string]any
		Next json.Number
	}](t, s.send(t, "GET", "/api/threads/aud/audit?limit=2", ""))
	rest := decoded[struct {
		Rows []map[string]any
		Next *int64
	}](t, s.send(t, "GET", "/api/threads/aud/audit?before="+page.Next.String(), ""))
	if len(page.Rows) != 2 || len(page.Rows)+len(rest.Rows) != len(rows) || rest.Next != nil {
		t.Errorf("pages of %d and %d rows, then %v", len(page.Rows), len(rest.Rows), rest.Next)
	}
	for path, want := range map[string]int{
		"/api/threads/nowhere/audit":     http.StatusNotFound,
		"/api/threads/aud/audit?limit=0": http.StatusUnprocessableEntity,
		"/api/audit?before=x":            http.StatusUnprocessableEntity,
		"/api/threads/a%2Fb/audit":       http.StatusUnprocessableEntity,
	} {
		s.send(t, "GET", path, "").want(t, path, want)
	}
	s.send(t, "DELETE", "/api/threads/aud", "").must(t, "delete", http.StatusOK)
	webtest.Same(t, "rows of a deleted thread", len(s.auditOf(t, "/api/audit", 0)), 0)
}

// tool runs one tool through a chat and returns its result.
func (s *server) tool(t *testing.T, thread, name, args string) string {
	t.Helper()
	script := fmt.Sprintf(`SCRIPT{"turns":[{"tool_calls":[{"name":%q,"args":%s}]},{"text":"done"}]}`, name, args)
	values := decoded[struct {
		Messages []struct{ Type, Content string }
	}](t, s.send(t, "POST", "/threads/"+thread+"/runs/wait", human(script)))
	for i := len(values.Messages) - 1; i >= 0; i-- {
		if values.Messages[i].Type == "tool" {
			return values.Messages[i].Content
		}
	}
	t.Fatalf("no result of %s: %+v", name, values)
	return ""
}
