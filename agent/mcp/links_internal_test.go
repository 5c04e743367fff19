package mcp

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"fawn/agent/agenttest/must"
)

// TestLinksOfAKilledServerAreRemoved at the next start: those into its own threads, and nothing else.
func TestLinksOfAKilledServerAreRemoved(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no such links on Windows")
	}
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	threads := filepath.Join(t.TempDir(), "threads")
	deep := filepath.Join(threads, "a-thread-with-a-name-that-is-long", "user-data", "workspace", filepath.FromSlash(tempFolder))
	must.Do(t, os.MkdirAll(deep, 0o700))
	link := func(name, to string) string {
		t.Helper()
		at := filepath.Join(temp, name)
		must.Do(t, os.Symlink(to, at))
		return at
	}
	there := func(at string) bool {
		_, err := os.Lstat(at)
		return err == nil
	}
	short, _ := shortened(deep) // nobody removes it, as the process is killed
	defer os.Remove(short)
	made := link("fawn-abcdefghij", deep)
	gone := link("fawn-klmnopqrst", filepath.Join(threads, "gone", "user-data", "workspace", filepath.FromSlash(tempFolder)))
	others := []string{link("fawn-abcdefghi2", filepath.Join(t.TempDir(), tempFolder)), link("fawn-abcdefghi3", threads),
		link("fawn-longer-than-that", deep)}
	if err := RemoveLinks(threads, true); err != nil || there(gone) || !there(made) {
		t.Errorf("beside other servers: %v, the one that leads nowhere %v, another one %v", err, there(gone), there(made))
	}
	if err := RemoveLinks(threads, false); err != nil || there(made) || short != deep && there(short) {
		t.Errorf("alone: %v, %v, %v", err, there(made), there(short))
	}
	for _, at := range others {
		if !there(at) {
			t.Errorf("%s was removed", at)
		}
	}
}
