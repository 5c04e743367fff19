//go:build unix

package pool

import (
	"os"
	"syscall"
)

// readNow reads the current content of a pipe without waiting.
func readNow(r *os.File, buf []byte) (n int) {
	raw, err := r.SyscallConn()
	if err != nil {
		return 0
	}
	err = raw.Read(func(fd uintptr) bool {
		var again error
		for n, again = syscall.Read(int(fd), buf); again == syscall.EINTR; {
			n, again = syscall.Read(int(fd), buf)
		}
		return true
	})
	if err != nil {
		return 0
	}
	return max(n, 0)
}
