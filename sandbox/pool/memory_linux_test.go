package pool_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/sandbox/pool"
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
				must.Do(t, os.MkdirAll(filepath.Dir(name), 0o755))
				must.Do(t, os.WriteFile(name, []byte(content), 0o644))
			}
			write(proc+"/meminfo", c.meminfo)
			write(proc+"/self/cgroup", "0::"+inner+"\n")
			write(proc+"/self/mountinfo", fmt.Sprintf("30 20 0:26 / %s rw - cgroup2 cgroup2 rw\n", groups))
			write(groups+"/a/memory.max", c.outer+"\n")
			write(groups+inner+"/memory.max", c.inner+"\n")
			if got := pool.MachineMemory(proc); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}
