//go:build unix

package backup

import "golang.org/x/sys/unix"

// freeSpace returns how many bytes may be written to the disk of a folder.
func freeSpace(dir string) (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return uint64(s.Bavail) * uint64(s.Bsize), nil
}
