package pgtest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Pause freezes all processes of the server until the returned function is called.
func (s *Server) Pause() (resume func()) {
	all := append([]int{s.cmd.Process.Pid}, children(s.cmd.Process.Pid)...)
	send := func(sig syscall.Signal) {
		for _, pid := range all {
			syscall.Kill(pid, sig) // it may have ended
		}
	}
	send(syscall.SIGSTOP)
	return func() { send(syscall.SIGCONT) }
}

// children returns the processes that a process has started.
func children(pid int) (list []int) {
	all, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil
	}
	for _, path := range all {
		b, err := os.ReadFile(path)
		if err != nil { // it has ended
			continue
		}
		_, rest, _ := strings.Cut(string(b), ") ")
		fields := strings.Fields(rest)
		n, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err == nil && len(fields) > 1 && fields[1] == strconv.Itoa(pid) {
			list = append(list, n)
		}
	}
	return list
}
