package ns

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fawn/sandbox/jail"
)

// launch lets the small program start the first process as a child of this one, which then has no page tables copied.
func (b *Box) launch(spec jail.Spec) error {
	own := &syscall.SysProcAttr{Setsid: true}
	first := b.attributes(spec)
	// The launcher is in the group as well: Linux puts nothing into a group that it makes a child of another parent.
	own.UseCgroupFD, own.CgroupFD, first.UseCgroupFD = first.UseCgroupFD, first.CgroupFD, false
	attr, err := json.Marshal(first)
	if err != nil {
		return err
	}
	inside, err := b.connect()
	if err != nil {
		return err
	}
	defer inside.Close()
	said, stderr, err := os.Pipe()
	if err != nil {
		return errors.Join(err, b.conn.Close())
	}
	defer stderr.Close()
	cmd := exec.Command(spec.Init)
	cmd.Args = []string{jail.RoleLaunch, string(attr)}
	cmd.Env = jail.SetupEnv()
	cmd.Dir = "/"
	cmd.ExtraFiles = []*os.File{inside}
	cmd.Stderr = stderr
	cmd.SysProcAttr = own
	if err = cmd.Run(); err == nil {
		b.first, err = b.started()
	}
	if err != nil {
		return errors.Join(err, b.conn.Close(), said.Close())
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		// It ends with the last process that could write.
		_, _ = io.Copy(b.stderr, said)
		_ = said.Close()
	}()
	b.join = func() error {
		_, err := b.first.Wait()
		<-ended
		return err
	}
	return nil
}

// started returns the process that a launcher, which has ended, says it has started.
func (b *Box) started() (*os.Process, error) {
	// The message is there or never comes.
	if err := b.conn.SetReadDeadline(time.Now().Add(startTime)); err != nil {
		return nil, err
	}
	m, _, err := b.read()
	if err != nil {
		return nil, err
	}
	switch {
	case m.Op == jail.OpStarted && m.Errno != 0:
		return nil, syscall.Errno(m.Errno)
	case m.Op != jail.OpStarted || m.Pid <= 0:
		return nil, unix.EPROTO
	}
	return os.FindProcess(m.Pid)
}
