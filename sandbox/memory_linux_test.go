package sandbox_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fawn/sandbox"
)

func TestMemoryIsThatOfTheMachineOrItsControlGroup(t *testing.T) {
	const inner = "/a/b"
	for _, c := range []struct {
		name, meminfo, outer, inner string
		want                        int64
	}{
		{"a machine", "MemTotal:        4096000 kB\nMemFree: 1 kB\n", "max", "max", 4096000 << 10},
		{"a group", "MemTotal:        4096000 kB\n", "max", "1073741824", 1 << 30},
		{"a group around the group", "MemTotal:        4096000 kB\n", "536870912", "1073741824", 512 << 20},
		{"nothing", "", "max", "max", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			proc, groups := t.TempDir(), t.TempDir()
			write := func(name, content string) {
				if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			write(proc+"/meminfo", c.meminfo)
			write(proc+"/self/cgroup", "0::"+inner+"\n")
			write(proc+"/self/mountinfo", fmt.Sprintf("30 20 0:26 / %s rw - cgroup2 cgroup2 rw\n", groups))
			write(groups+"/a/memory.max", c.outer+"\n")
			write(groups+inner+"/memory.max", c.inner+"\n")
			if got := sandbox.MachineMemory(proc); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

func TestASandboxGetsHalfOfTheMachineAtMost(t *testing.T) {
	w := newWorld(t, func(c *sandbox.Config) { c.SetMachine(256 << 20) })
	policy := sandbox.DefaultPolicy()
	policy.Limits.Memory = 64 << 30
	box, err := w.provider.Acquire(t.Context(), sandbox.ThreadRef{ID: "a"}, policy)
	if err != nil {
		t.Fatal(err)
	}
	res, err := box.Exec(t.Context(), sandbox.ExecReq{Command: `python3 -c 'b = bytearray(200 << 20); import time; time.sleep(60)'`})
	if notes := strings.Join(res.Notes, "\n"); err != nil || !res.OOM || !strings.Contains(notes, "> 128 MiB") && !strings.Contains(notes, "(128 MiB)") {
		t.Errorf("%v %v %q", err, res.OOM, notes)
	}
}
