package sandbox

import (
	"context"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// freeSpace is what is left on the disk of a folder, in bytes.
func freeSpace(dir string) (int64, bool) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, false
	}
	return int64(st.Bavail) * st.Bsize, true
}

// entryCost is what a name takes up besides its blocks: without it, empty files
// would be free, and a disk has only so many.
const entryCost = 1 << 10

// diskUsage counts blocks, so that holes cost nothing.
func diskUsage(ctx context.Context, dir string) (sum int64, err error) {
	err = eachFile(ctx, dir, func(_ int, _ string, st *unix.Stat_t) error {
		sum += st.Blocks*512 + entryCost
		return nil
	})
	return sum, err
}

// eachFile visits everything below a folder through open folders: names that
// programs change meanwhile lead nowhere else, and paths may be of any length.
// Nesting beyond maxNesting ends with errNesting.
func eachFile(ctx context.Context, dir string, visit func(parent int, name string, st *unix.Stat_t) error) error {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: dir, Err: err}
	}
	return eachBelow(ctx, fd, 0, visit)
}

// eachBelow closes the folder.
func eachBelow(ctx context.Context, fd, depth int, visit func(int, string, *unix.Stat_t) error) error {
	dir := os.NewFile(uintptr(fd), "folder")
	defer dir.Close()
	if depth > maxNesting {
		return errNesting
	}
	for {
		names, err := dir.Readdirnames(512)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			var st unix.Stat_t
			err := unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW)
			if errors.Is(err, unix.ENOENT) {
				continue
			}
			if err == nil {
				err = visit(fd, name, &st)
			}
			if err == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR {
				err = below(ctx, fd, depth, name, visit)
			}
			if err != nil {
				return err
			}
		}
	}
}

func below(ctx context.Context, fd, depth int, name string, visit func(int, string, *unix.Stat_t) error) error {
	sub, err := unix.Openat(fd, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP), errors.Is(err, unix.EACCES):
		// Gone, replaced, or closed to its owner.
		return nil
	case err != nil:
		return os.NewSyscallError("openat", err)
	}
	return eachBelow(ctx, sub, depth+1, visit)
}
