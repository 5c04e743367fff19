package tools_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/tools"
	"fawn/sandbox/files"
)

// TestCommandsSayWhichFilesTheyMayTouch, so that they keep their place among other calls.
func TestCommandsSayWhichFilesTheyMayTouch(t *testing.T) {
	bash := tools.Bash(&fake{}, policy, nowhere, results)
	for _, c := range []struct{ command, writes, perhaps string }{
		{"python3 make.py out.csv", "", "make.py out.csv"},
		{"echo x >>log.txt; cat <in.txt", "log.txt", "in.txt"},
		{"sed -i s,a,b, notes.md", "notes.md", ""},
		{"cp /mnt/user-data/outputs/a.txt b.txt 2>/dev/null", "/mnt/user-data/outputs/a.txt b.txt", ""},
		{`rm -f "old.txt"`, "old.txt", ""},
	} {
		args := must.Get(json.Marshal(map[string]string{"command": c.command}))(t)
		got := bash.Access(agent.ToolCall{Name: "bash", Args: args})
		for _, want := range []struct {
			in    string
			paths []string
		}{{c.writes, got.Writes}, {c.perhaps, got.Perhaps}} {
			for _, p := range strings.Fields(want.in) {
				if !filepath.IsAbs(p) {
					p = files.Workspace + "/" + p
				}
				if !slices.Contains(want.paths, p) {
					t.Errorf("%s: %s is missing in %+v", c.command, p, got)
				}
			}
		}
	}
}
