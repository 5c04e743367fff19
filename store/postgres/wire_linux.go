package postgres

import (
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// limitWire sets a timeout for unacknowledged data, because keep-alives aren't sent while data is in flight.
// Keep-alives alone are not sent while something is under way.
func limitWire(network, _ string, c syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	return c.Control(func(fd uintptr) {
		// Where that is not possible, the lease ends it.
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(wireTime.Milliseconds()))
	})
}
