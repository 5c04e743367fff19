package load

import (
	"os"
	"os/exec"
)

// grouped does nothing: Windows has no process groups to end here.
func grouped(*exec.Cmd) {}

// endGroup ends the program itself, which may already be gone.
func endGroup(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
	}
}
