package pool

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// machineMemory returns the memory available to the server and its children in bytes: the machine's, or the limit of an
// enclosing control group. 0 means unknown.
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
	dir, _, err := OwnCgroup(proc)
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

// OwnCgroup returns the server's control group folder, and the topmost one visible to it.
func OwnCgroup(proc string) (dir, top string, err error) {
	b, err := os.ReadFile(filepath.Join(proc, "self/cgroup"))
	if err != nil {
		return "", "", err
	}
	own := ""
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			own = rest
		}
	}
	if b, err = os.ReadFile(filepath.Join(proc, "self/mountinfo")); err != nil {
		return "", "", err
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		dash := slices.Index(f, "-")
		if own == "" || dash < 5 || len(f) < dash+2 || f[dash+1] != "cgroup2" {
			continue
		}
		// Above the mount the path starts with /.., which leads nowhere here.
		if rel, err := filepath.Rel(f[3], own); err == nil && filepath.IsLocal(rel) && !strings.HasPrefix(own, "/..") {
			return filepath.Join(f[4], rel), f[4], nil
		}
	}
	return "", "", errors.New("no cgroup v2 hierarchy is mounted")
}
