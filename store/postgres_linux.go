package store

import (
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// limitWire lets the system give up a connection when what was sent goes unanswered: keep-alives alone are not sent
// while something is under way.
func limitWire(network, _ string, c syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	return c.Control(func(fd uintptr) {
		// Where that is not possible, the lease ends it.
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(wireTime.Milliseconds()))
	})
}
