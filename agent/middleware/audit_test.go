package middleware_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/command"
	"fawn/agent/middleware"
	"fawn/sandbox/files"
)

func auditBench(t *testing.T) (*bench, *[]middleware.AuditRecord) {
	var rows []middleware.AuditRecord
	b := newBench(t, func(open func(string) (*files.Files, error)) []agent.Middleware {
		return []agent.Middleware{middleware.Audit(open, func(r middleware.AuditRecord) { rows = append(rows, r) })}
	})
	return b, &rows
}

func TestEveryCommandLeavesARow(t *testing.T) {
	b, rows := auditBench(t)
	ran := 0
	b.tools["bash"] = func(context.Context, *agent.Turn, agent.ToolCall) (agent.Result, error) {
		ran++
		return agent.TextResult("out"), nil
	}
	long := "echo " + strings.Repeat("é", 600)
	for i, c := range []struct {
		command, text, reason string
		level                 command.Level
		kept                  string
	}{
		{"ls -l", "out", "", command.Pass, "ls -l"},
		{"pip install x", "out\n\nNote on this command: it installs Python packages.", "it installs Python packages", command.Warn, "pip install x"},
		{"rm -rf /", "Command blocked: deleting a whole system or home folder. Nothing was run.", "deleting a whole system or home folder", command.Block, "rm -rf /"},
		{"rm -rf / " + long, "Command blocked: deleting", "deleting a whole system or home folder", command.Block, ("rm -rf / " + long)[:14] + strings.Repeat("é", 186)},
		{long, "out", "", command.Pass, "echo " + strings.Repeat("é", 495)},
		{"", "Command blocked: empty command.", "empty command", command.Block, ""},
		{strings.Repeat("a", 10_001), "Command blocked: command too long. Nothing was run. Write it to a file with write_file and run that.", "command too long", command.Block, strings.Repeat("a", 200)},
	} {
		before := ran
		r := b.call("bash", arg{"command": c.command})
		if !strings.HasPrefix(r.Content.Text, c.text) || r.IsError != (c.level == command.Block) {
			t.Errorf("%.40q: %q %v", c.command, r.Content.Text, r.IsError)
		}
		if (ran > before) != (c.level != command.Block) {
			t.Errorf("%.40q: ran %v", c.command, ran > before)
		}
		if len(*rows) != i+1 {
			t.Fatalf("%.40q: %d rows", c.command, len(*rows))
		}
		row, sum := (*rows)[i], sha256.Sum256([]byte(c.command))
		if row.Verdict != c.level || row.Reason != c.reason || row.Command != c.kept ||
			row.SHA256 != hex.EncodeToString(sum[:]) || row.Thread != "t1" || row.Run != "r1" || row.Tool != "bash" ||
			row.Call == "" || row.Time.IsZero() {
			t.Errorf("%.40q: %+v", c.command, row)
		}
	}
}

func TestACallWithoutACommandIsTheToolsBusiness(t *testing.T) {
	b, rows := auditBench(t)
	b.says("bash", "missing")
	for _, args := range []string{`{}`, `[]`, `{"command":null}`, `{"command":5}`} {
		if r := b.call("bash", args); r.Content.Text != "missing" {
			t.Errorf("%s: %q", args, r.Content.Text)
		}
	}
	if len(*rows) != 0 {
		t.Errorf("rows %+v", *rows)
	}
}

func TestEveryRefusedPathLeavesARow(t *testing.T) {
	b, rows := auditBench(t)
	b.put("workspace/a.txt", "x")
	must.Do(t, os.Symlink("/etc", filepath.Join(b.host, "workspace", "link")))
	for _, c := range []struct {
		tool   string
		args   any
		denied string
	}{
		{"read_file", arg{"path": "a.txt"}, ""},
		{"read_file", arg{"path": "none.txt"}, ""},
		{"read_file", arg{"path": "/etc/passwd"}, "/etc/passwd"},
		{"read_file", arg{"path": "../../../etc/passwd"}, "../../../etc/passwd"},
		{"read_file", arg{"path": "link/passwd"}, "link/passwd"},
		{"write_file", arg{"path": "/mnt/skills/x", "content": ""}, "/mnt/skills/x"},
		{"ls", arg{"path": "/mnt/user-data-evil"}, "/mnt/user-data-evil"},
		{"view_image", arg{"image_path": "/etc/a.png"}, "/etc/a.png"},
		{"present_files", arg{"filepaths": []string{"/mnt/user-data/workspace/a.txt"}}, ""},
		{"present_files", arg{"file_paths": []string{"/root/x"}}, "/root/x"},
		{"ls", `{"path":5}`, ""},
	} {
		*rows = nil
		b.call(c.tool, c.args)
		switch {
		case c.denied == "" && len(*rows) > 0:
			t.Errorf("%s %v: rows %+v", c.tool, c.args, *rows)
		case c.denied != "" && (len(*rows) != 1 || (*rows)[0].Path != c.denied || (*rows)[0].Verdict != command.Block ||
			(*rows)[0].Reason == "" || (*rows)[0].Tool != c.tool):
			t.Errorf("%s %v: rows %+v", c.tool, c.args, *rows)
		}
	}
}
