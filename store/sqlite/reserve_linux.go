package sqlite

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// allocate reserves disk space for a new file without writing. Some file systems only change the size, which returns
// errors.ErrUnsupported, like a missing system call.
func allocate(f *os.File, size int64) error {
	for {
		switch err := unix.Fallocate(int(f.Fd()), 0, 0, size); {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return fmt.Errorf("allocate %s: %w", f.Name(), err)
		}
		break
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return fmt.Errorf("allocate %s: %w", f.Name(), err)
	}
	if st.Blocks*512 < size {
		return fmt.Errorf("allocate %s: %w", f.Name(), errors.ErrUnsupported)
	}
	return nil
}
