//go:build !unix

package process

import (
	"errors"
	"os"
	"os/exec"
)

// group is a server's process. Its descendants aren't reached: they exit when their input closes.
type group struct{}

func newGroup(*exec.Cmd) (*group, error) { return &group{}, nil }

func (g *group) terminate(cmd *exec.Cmd) error { return g.kill(cmd) }

func (g *group) kill(cmd *exec.Cmd) error {
	if cmd.Process == nil {
		return nil
	}
	if err := cmd.Process.Kill(); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}
