//go:build unix

package load

import (
	"os/exec"
	"syscall"
)

// grouped gives a program a process group of its own.
func grouped(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// endGroup ends all processes of a group that may be gone.
func endGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }
