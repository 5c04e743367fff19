//go:build unix

package files

import (
	"io/fs"
	"os"
	"syscall"
)

// owner returns the owner for new files of a thread. Only a root server can change owners; the thread's folder then
// belongs to the user of its commands.
func owner(folder func() (fs.FileInfo, error)) (uid, gid int, other bool) {
	if os.Geteuid() != 0 {
		return 0, 0, false
	}
	info, err := folder()
	if err != nil {
		return 0, 0, false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || st.Uid == 0 {
		return 0, 0, false
	}
	return int(st.Uid), int(st.Gid), true
}
