package jail

import (
	"encoding/json"
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// SetupEnv returns the environment of the first process.
func SetupEnv() []string { return []string{"GOMAXPROCS=1", "GOGC=off"} }

// launchMain starts the first process of a sandbox as a child of the server, tells its number and exits. Go starts a
// process with users of its own by a copy of the page tables, of which this small program has few. The argument is a
// syscall.SysProcAttr as JSON. The control group is that of this process.
func launchMain() {
	attr := new(syscall.SysProcAttr)
	if len(os.Args) != 2 || json.Unmarshal([]byte(os.Args[1]), attr) != nil {
		os.Exit(1)
	}
	// The users of the child are written to its files in /proc.
	if unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0) != nil {
		os.Exit(1)
	}
	attr.Cloneflags |= unix.CLONE_PARENT
	pid, err := syscall.ForkExec(ownPath, []string{RoleSetup},
		&syscall.ProcAttr{Dir: "/", Env: SetupEnv(), Files: []uintptr{0, 1, 2, Control}, Sys: attr})
	m := &Message{Op: OpStarted, Pid: pid}
	if err != nil {
		m.Pid, m.Errno = 0, int(unix.EINVAL)
		if errno := syscall.Errno(0); errors.As(err, &errno) {
			m.Errno = int(errno)
		}
	}
	if send(m) != nil {
		os.Exit(1)
	}
}
