package sandbox

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// machineMemory is how much memory there is for the server and all it starts, in bytes: that
// of the machine, or what a control group around the server may have. 0 means unknown.
func machineMemory(proc string) int64 {
	b, err := os.ReadFile(filepath.Join(proc, "meminfo"))
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(b, []byte("MemTotal:"))
	f := bytes.Fields(rest)
	if len(f) < 2 {
		return 0
	}
	kib, err := strconv.ParseInt(string(f[0]), 10, 64)
	if err != nil {
		return 0
	}
	total := kib << 10
	dir, _, err := ownCgroup(proc)
	if err != nil {
		return total
	}
	// The root of the groups has no limit, and no such file.
	for ; ; dir = filepath.Dir(dir) {
		b, err := os.ReadFile(filepath.Join(dir, "memory.max"))
		if err != nil {
			return total
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil {
			total = min(total, n)
		}
	}
}
