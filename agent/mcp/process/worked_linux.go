package process

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
)

// worked returns the processor time used by the group's processes, in clock ticks.
func (g *group) worked() (sum uint64) {
	if g.guard == nil || g.guard.Process == nil {
		return 0
	}
	group := strconv.Itoa(g.guard.Process.Pid)
	all, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil { // the pattern is valid
		return 0
	}
	for _, path := range all {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // it has exited
		}
		_, rest, ok := bytes.Cut(b, []byte(") ")) // the preceding name may contain anything
		f := bytes.Fields(rest)
		if !ok || len(f) < 13 || string(f[2]) != group {
			continue
		}
		for _, at := range []int{11, 12} { // user and system time
			n, err := strconv.ParseUint(string(f[at]), 10, 64)
			if err == nil {
				sum += n
			}
		}
	}
	return sum
}
