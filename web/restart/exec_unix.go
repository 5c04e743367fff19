//go:build unix

package restart

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Environment variables read and removed by a restarted process. They are valid for the same process only.
const (
	forPID  = "FAWN_ANEW_PID"
	atAddr  = "FAWN_ANEW_ADDR"
	sockets = "FAWN_ANEW_SOCKETS"
)

// Handover holds the sockets for the restarted program.
type Handover struct {
	addr  string
	files []*os.File
}

// Prepare holds sockets open, even when the listeners are closed.
func Prepare(addr string, listeners []net.Listener) (*Handover, error) {
	w := &Handover{addr: addr}
	for _, l := range listeners {
		f, err := file(l)
		if err != nil {
			return nil, errors.Join(err, w.Drop())
		}
		w.files = append(w.files, f)
	}
	return w, nil
}

// Drop closes the sockets.
func (w *Handover) Drop() (err error) {
	for _, f := range w.files {
		err = errors.Join(err, f.Close())
	}
	return err
}

// Execute begins again, with an environment, and returns only when that is not possible.
func (w *Handover) Execute(env []string) error {
	program, err := program()
	if err != nil {
		return err
	}
	var kept []string
	syscall.ForkLock.Lock() // prevent other programs from inheriting the sockets
	defer syscall.ForkLock.Unlock()
	for _, f := range w.files {
		raw, err := f.SyscallConn()
		if err != nil {
			return err
		}
		var failed error
		if err := raw.Control(func(fd uintptr) {
			_, failed = unix.FcntlInt(fd, unix.F_SETFD, 0)
			kept = append(kept, strconv.Itoa(int(fd)))
		}); err != nil || failed != nil {
			return errors.Join(err, failed)
		}
	}
	env = append(env[:len(env):len(env)], forPID+"="+strconv.Itoa(os.Getpid()), atAddr+"="+w.addr,
		sockets+"="+strings.Join(kept, ","))
	err = syscall.Exec(program, os.Args, env)
	runtime.KeepAlive(w)
	return fmt.Errorf("execute %s: %w", program, err)
}

// program returns the file of the running program. If it was replaced, as in an update, Linux still provides it.
func program() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	const running = "/proc/self/exe"
	self, err := os.Stat(running)
	if err != nil {
		return path, nil
	}
	if there, err := os.Stat(path); err == nil && os.SameFile(self, there) {
		return path, nil
	}
	return running, nil
}

// Inherited returns the resources kept by this process before a restart, nil at its first start.
func Inherited() (*Sockets, error) {
	pid, list, l := os.Getenv(forPID), os.Getenv(sockets), &Sockets{Addr: os.Getenv(atAddr)}
	for _, name := range []string{forPID, atAddr, sockets} {
		if err := os.Unsetenv(name); err != nil {
			return nil, err
		}
	}
	if pid != strconv.Itoa(os.Getpid()) {
		return nil, nil
	}
	for s := range strings.SplitSeq(list, ",") {
		fd, err := strconv.Atoi(s)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", sockets, err)
		}
		syscall.CloseOnExec(fd)
		f := os.NewFile(uintptr(fd), "socket "+s)
		listener, err := net.FileListener(f) // of a copy
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, fmt.Errorf("socket %s that was kept: %w", s, err)
		}
		l.Listeners = append(l.Listeners, listener)
	}
	return l, nil
}
