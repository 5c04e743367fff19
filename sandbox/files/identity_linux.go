package files

import (
	"io/fs"
	"syscall"
	"time"
)

// identity returns attributes of a file that no program can choose: its inode number, and its change time.
func identity(info fs.FileInfo) (inode uint64, changed time.Time) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, info.ModTime()
	}
	return st.Ino, time.Unix(int64(st.Ctim.Sec), int64(st.Ctim.Nsec))
}
