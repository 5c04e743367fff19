package jail

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// SetupEnv returns the environment of the first process.
func SetupEnv() []string { return []string{"GOMAXPROCS=1", "GOGC=off"} }

// launchMain starts the first process of a sandbox as a child of the server, tells its number and exits. Go starts a
// process with users of its own by a copy of the page tables, of which this small program has few. The argument is a
// syscall.SysProcAttr as JSON. The control group is that of this process.
func launchMain() {
	attr, pidfd := new(syscall.SysProcAttr), -1
	if len(os.Args) != 2 || json.Unmarshal([]byte(os.Args[1]), attr) != nil {
		os.Exit(1)
	}
	// The users of the child are written to its files in /proc.
	if unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0) != nil {
		os.Exit(1)
	}
	attr.Cloneflags |= unix.CLONE_PARENT
	attr.PidFD = &pidfd
	pid, err := syscall.ForkExec(ownPath, []string{RoleSetup},
		&syscall.ProcAttr{Dir: "/", Env: SetupEnv(), Files: []uintptr{0, 1, 2, Control}, Sys: attr})
	m := &Message{Op: OpStarted, Pid: pid}
	if err != nil {
		m.Pid, m.Errno = pidOf(pidfd), int(unix.EINVAL)
		if errno := syscall.Errno(0); errors.As(err, &errno) {
			m.Errno = int(errno)
		}
	}
	if send(m) != nil {
		os.Exit(1)
	}
}

// pidOf returns the process of a descriptor, or 0 if there is none. It may have ended.
func pidOf(pidfd int) int {
	f, err := os.Open("/proc/self/fdinfo/" + strconv.Itoa(pidfd))
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), "Pid:"); ok {
			pid, _ := strconv.Atoi(strings.TrimSpace(text))
			return max(pid, 0)
		}
	}
	return 0
}
