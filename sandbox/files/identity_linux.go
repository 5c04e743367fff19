package files

import (
	"io/fs"
	"syscall"
	"time"
)

// identity is what no program can choose about a file: its number on the disk, and when
// anything about it changed last.
func identity(info fs.FileInfo) (inode uint64, changed time.Time) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, info.ModTime()
	}
	return st.Ino, time.Unix(int64(st.Ctim.Sec), int64(st.Ctim.Nsec))
}
