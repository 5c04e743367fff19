package render

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
)

// taken returns the memory of a process group in bytes, excluding file pages.
func taken(group int) (sum int64) {
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0
	}
	for _, dir := range all {
		stat, err := os.ReadFile(dir + "/stat")
		if err != nil { // it has just ended
			continue
		}
		// Behind the name, which may have spaces and brackets: state, parent, group.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) < 3 || string(fields[2]) != strconv.Itoa(group) {
			continue
		}
		status, err := os.ReadFile(dir + "/status")
		if err != nil {
			continue
		}
		for line := range bytes.Lines(status) {
			name, rest, _ := bytes.Cut(line, []byte(":"))
			if string(name) != "RssAnon" && string(name) != "RssShmem" && string(name) != "VmSwap" {
				continue
			}
			if f := bytes.Fields(rest); len(f) > 0 {
				kb, _ := strconv.ParseInt(string(f[0]), 10, 64) // 0 for malformed values
				sum += kb << 10
			}
		}
	}
	return sum
}
