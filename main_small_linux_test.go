package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fawn/sandbox"
)

// TestAChatFitsOnASmallDisk: a data folder of 64 MB has room for a first chat with commands, which see the skills, and for
// the next start. The program itself, which skills use, is larger than that.
func TestAChatFitsOnASmallDisk(t *testing.T) {
	t.Parallel()
	needs(t, sandbox.ProviderNamespace)
	data := openDir(t)
	if err := os.Mkdir(data, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", data, "tmpfs", 0, "size=64m,mode=755"); err != nil {
		t.Skip("a disk with little room can't be mounted: ", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(data, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	args := []string{"--data", data, "--config", configured(t)}
	for _, start := range []string{"first", "second"} {
		s := serve(t, nil, args...)
		call[any](t, s, "POST", "/threads/"+start+"/runs/wait", input(calling("bash", map[string]string{"description": "d",
			"command": "head -3 /mnt/skills/public/data-analysis/SKILL.md; echo made >/mnt/user-data/outputs/a; cat /mnt/user-data/outputs/a"},
			`{"text": "done"}`)))
		if got := messages(t, s, start); !strings.Contains(got, "name: data-analysis") || !strings.Contains(got, "made") || !strings.HasSuffix(got, "ai:done\n") {
			t.Errorf("the %s chat says\n%s", start, got)
		}
		s.end(t, os.Interrupt)
		if strings.Contains(s.stderr, "full") {
			t.Errorf("the %s server says\n%s", start, s.stderr)
		}
	}
	if shown, err := filepath.Glob(filepath.Join(data, "skills-shown", "*")); err != nil || len(shown) == 0 {
		t.Errorf("no skills are shown: %v, %v", shown, err)
	}
}
