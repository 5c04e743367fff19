package main

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fawn/agent/mcp/mcptest"
)

// TestTasksOfMCPServersSurviveAKill: the run that waited for one goes on waiting after each start, and its tool is
// called once. Where runs are not resumed, the task is cancelled.
func TestTasksOfMCPServersSurviveAKill(t *testing.T) {
	t.Parallel()
	const dig = `SCRIPT{"turns": [{"tool_calls": [{"name": "mine_dig", "args": {}}]}, {"text": "thanks for it"}]}`
	for _, c := range []struct{ name, more, status string }{
		{"resumed", "", "completed"},
		{"marked", "runs: {resume: mark}", "cancelled"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			remote := &mcptest.Tasks{}
			at := httptest.NewServer(remote)
			defer at.Close()
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "extensions_config.json"),
				[]byte(`{"mcpServers": {"mine": {"type": "http", "url": "`+at.URL+`"}}}`), 0o600); err != nil {
				t.Fatal(err)
			}
			args := []string{"--data", dir, "--config", configured(t, c.more)}
			s := serve(t, nil, args...)
			type task struct{ Status string }
			tasks := func() []task { return call[[]task](t, s, "GET", "/api/threads/t1/mcp-tasks", "") }
			call[any](t, s, "POST", "/threads/t0/runs/wait", input("echo 1 tokens at 0 tok/s")) // waits for the server's tools
			call[any](t, s, "POST", "/threads", `{"thread_id": "t1"}`)
			call[runRow](t, s, "POST", "/threads/t1/runs", input(dig))
			until(t, func() bool { list := tasks(); return len(list) == 1 && list[0].Status == "working" })
			for range 2 {
				asked := remote.Sent("tasks/result")
				s.end(t, syscall.SIGKILL)
				s = serve(t, nil, args...)
				if c.more != "" {
					break
				}
				until(t, func() bool { return remote.Sent("tasks/result") > asked })
			}
			if c.more == "" {
				remote.Finish(0, "three bones")
			}
			until(t, func() bool { return tasks()[0].Status == c.status })
			until(t, func() bool { return status(t, s, "t1") != "busy" })
			got := messages(t, s, "t1")
			if c.more == "" && (!strings.Contains(got, "three bones") || !strings.Contains(got, "thanks for it")) {
				t.Errorf("the thread has\n%s", got)
			}
			if c.more != "" && remote.Status(0) != "cancelled" {
				t.Errorf("the server's task is %s", remote.Status(0))
			}
			if remote.Made() != 1 {
				t.Errorf("%d tasks were made", remote.Made())
			}
		})
	}
}
