//go:build unix

package process

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// group is a server's process group. Its leader is a shell that waits for the end of its input, which happens when Fawn
// exits for any reason: then it kills the group. As the leader lives until then, its number can't be reused.
type group struct {
	guard *exec.Cmd // nil without a shell
	life  io.Closer // the input of the guard

	mu   sync.Mutex
	dead bool // from then on the process id may be reused
}

const guardShell = "/bin/sh"

// guardScript survives the signals that ask servers to exit.
const guardScript = `trap "" TERM INT HUP; read x; kill -9 0`

// newGroup configures a command to start in its own process group.
func newGroup(cmd *exec.Cmd) (*group, error) {
	g := &group{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if _, err := os.Stat(guardShell); err != nil {
		return g, nil // without a shell, servers exit when their input ends
	}
	guard := &exec.Cmd{Path: guardShell, Args: []string{"sh", "-c", guardScript}, Env: []string{}, Dir: "/",
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true}}
	life, err := guard.StdinPipe()
	if err != nil {
		return g, err
	}
	if err := guard.Start(); err != nil {
		return g, errors.Join(err, life.Close())
	}
	g.guard, g.life, cmd.SysProcAttr.Pgid = guard, life, guard.Process.Pid
	return g, nil
}

// terminate asks the group to exit.
func (g *group) terminate(cmd *exec.Cmd) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.signal(cmd, syscall.SIGTERM)
}

// kill ends whatever is left of the group, and its leader.
func (g *group) kill(cmd *exec.Cmd) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	err := g.signal(cmd, syscall.SIGKILL)
	if !g.dead && g.guard != nil {
		_ = g.life.Close() // the guard does the same, should it not be dead
		_ = g.guard.Wait() // killed
	}
	g.dead = true
	return err
}

// signal reaches all of the group; the lock is held.
func (g *group) signal(cmd *exec.Cmd, s syscall.Signal) error {
	var err error
	switch {
	case g.dead:
	case g.guard != nil:
		err = syscall.Kill(-g.guard.Process.Pid, s)
	case cmd.Process != nil:
		err = syscall.Kill(-cmd.Process.Pid, s)
	}
	if errors.Is(err, syscall.ESRCH) {
		return nil // the group is empty
	}
	return err
}
