package ns

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// TasksOf counts a user's processes and threads, except those of one process and its descendants, as the system's limit
// does. An orphan may be such a descendant and is excluded.
func TasksOf(uid, except int) (sum int64) {
	names, err := filepath.Glob("/proc/[0-9]*/status")
	if err != nil {
		return 0
	}
	parents, tasks := map[int]int{}, map[int]int64{}
	for _, name := range names {
		b, err := os.ReadFile(name)
		pid, bad := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err != nil || bad != nil {
			continue
		}
		parents[pid] = statusNumber(b, "\nPPid:")
		if statusNumber(b, "\nUid:") == uid {
			tasks[pid] = int64(max(1, statusNumber(b, "\nThreads:")))
		}
	}
	for pid, n := range tasks {
		if except == 0 || notBelow(parents, pid, except) {
			sum += n
		}
	}
	return sum
}

// notBelow reports whether a process is certainly not a descendant of another one.
func notBelow(parents map[int]int, pid, other int) bool {
	for range len(parents) {
		if pid == other {
			return false
		}
		up, known := parents[pid]
		if !known {
			// The host may hide processes of others.
			return errors.Is(unix.Kill(pid, 0), unix.EPERM)
		}
		if pid = up; pid <= 1 {
			return true
		}
	}
	return false
}

// statusNumber reads the first number after a name, or 0.
func statusNumber(status []byte, name string) int {
	_, rest, _ := bytes.Cut(status, []byte(name))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	f := bytes.Fields(line)
	if len(f) == 0 {
		return 0
	}
	n, err := strconv.Atoi(string(f[0]))
	if err != nil {
		return 0
	}
	return n
}
