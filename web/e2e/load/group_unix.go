//go:build unix

package load

import (
	"os/exec"
	"syscall"
)

// grouped runs a program in its own process group.
func grouped(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// endGroup ends all processes of a group, which may already be gone.
func endGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }
