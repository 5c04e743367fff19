package pgtest

import (
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// server returns the user of PostgreSQL if tests run as root, which PostgreSQL refuses.
func server() (uid, gid int, ok bool) {
	if os.Getuid() != 0 {
		return 0, 0, false
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return 0, 0, false
	}
	uid, err = strconv.Atoi(u.Uid)
	if err != nil {
		return 0, 0, false
	}
	gid, err = strconv.Atoi(u.Gid)
	return uid, gid, err == nil
}

func handOver(dir string) error {
	if uid, gid, ok := server(); ok {
		return os.Chown(dir, uid, gid)
	}
	return nil
}

// command returns a command that runs a program of PostgreSQL and ends with the test.
func command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT}
	if uid, gid, ok := server(); ok {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	return cmd
}

// outlive lets a program survive the thread that started it, for tests that give their thread away.
func outlive(cmd *exec.Cmd) { cmd.SysProcAttr.Pdeathsig = 0 }
