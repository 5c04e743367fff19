//go:build unix

package systemd

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"
)

const (
	firstSocket = 3 // descriptor of the first socket, by the protocol
	maxSockets  = 64
)

// Listeners returns the TCP sockets opened by the service manager for this process, or none. It removes their
// description from the environment, so a second call returns none.
func Listeners() (list []net.Listener, err error) {
	pid, count := os.Getenv("LISTEN_PID"), os.Getenv("LISTEN_FDS")
	for _, name := range [...]string{"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"} {
		if err := os.Unsetenv(name); err != nil {
			return nil, err
		}
	}
	if count == "" || pid != strconv.Itoa(os.Getpid()) {
		return nil, nil
	}
	n, err := strconv.Atoi(count)
	if err != nil || n < 0 || n > maxSockets {
		return nil, fmt.Errorf("LISTEN_FDS is %q, not a number of sockets from 0 to %d", count, maxSockets)
	}
	for i := range n {
		l, err := listener(firstSocket + i)
		if err != nil {
			for _, l := range list {
				err = errors.Join(err, l.Close())
			}
			return nil, fmt.Errorf("socket %d of the service manager: %w", i+1, err)
		}
		list = append(list, l)
	}
	return list, nil
}

// listener takes over a descriptor, which programs that this one starts don't get.
func listener(fd int) (net.Listener, error) {
	syscall.CloseOnExec(fd)
	f := os.NewFile(uintptr(fd), "LISTEN_FD_"+strconv.Itoa(fd))
	l, err := net.FileListener(f) // of a copy
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	if l.Addr().Network() != "tcp" {
		return nil, errors.Join(fmt.Errorf("%s isn't a TCP socket: use ListenStream=127.0.0.1:2026", l.Addr()),
			l.Close())
	}
	return l, nil
}
