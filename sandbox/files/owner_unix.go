//go:build unix

package files

import (
	"io/fs"
	"os"
	"syscall"
)

// owner says to whom new files of a thread belong. Only a server that is root
// can give files away; the folder of the thread then belongs to the user that
// its commands run as.
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
