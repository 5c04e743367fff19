package files

import (
	"context"
	"errors"
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// FreeSpace returns the free space on a folder's disk, in bytes.
func FreeSpace(dir string) (int64, bool) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, false
	}
	return int64(st.Bavail) * st.Bsize, true
}

// entryCost is the assumed size of a directory entry: without it, empty files would be free, although a disk's inodes
// are limited.
const entryCost = 1 << 10

// diskUsage counts blocks, so that holes cost nothing.
func diskUsage(ctx context.Context, dir string) (sum int64, err error) {
	err = EachFile(ctx, dir, func(_ int, _ string, st *unix.Stat_t) error {
		sum += st.Blocks*512 + entryCost
		return nil
	})
	return sum, err
}

// EachFile visits everything below a folder through open folders: names that
// programs change meanwhile lead nowhere else, and paths may be of any length.
// Nesting beyond maxNesting ends with ErrNesting.
func EachFile(ctx context.Context, dir string, visit func(parent int, name string, st *unix.Stat_t) error) error {
	fd, leave, err := enter(unix.AT_FDCWD, dir)
	if err != nil {
		return &os.PathError{Op: "open", Path: dir, Err: err}
	}
	defer leave()
	return eachBelow(ctx, fd, 0, visit)
}

// enter opens a folder for listing. If a program removed its owner's permissions, they are restored until leave is
// called.
func enter(parent int, name string) (fd int, leave func(), err error) {
	const how = unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	leave = func() {}
	var st unix.Stat_t
	fd, err = unix.Openat(parent, name, unix.O_RDONLY|how, 0)
	if err == nil {
		if e := unix.Fstat(fd, &st); e == nil &&
			(st.Mode&unix.S_IXUSR != 0 || int(st.Uid) != os.Geteuid() || os.Geteuid() == 0) {
			return fd, leave, nil
		}
		_ = unix.Close(fd)
	} else if !errors.Is(err, unix.EACCES) {
		return -1, leave, err
	}
	at, err := unix.Openat(parent, name, unix.O_PATH|how, 0)
	if err != nil {
		return -1, leave, err
	}
	// The name may lead elsewhere by now; this is the folder that was opened.
	link := "/proc/self/fd/" + strconv.Itoa(at)
	if err = unix.Fstat(at, &st); err == nil {
		err = unix.Chmod(link, st.Mode&0o7777|unix.S_IRUSR|unix.S_IXUSR)
	}
	if err == nil {
		fd, err = unix.Open(link, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	}
	leave = func() {
		// Unless a program has opened it meanwhile.
		var now unix.Stat_t
		if unix.Fstat(at, &now) == nil && now.Mode == st.Mode|unix.S_IRUSR|unix.S_IXUSR {
			_ = unix.Chmod(link, st.Mode&0o7777)
		}
		_ = unix.Close(at)
	}
	if err != nil {
		leave()
		return -1, func() {}, err
	}
	return fd, leave, nil
}

// eachBelow closes the folder.
func eachBelow(ctx context.Context, fd, depth int, visit func(int, string, *unix.Stat_t) error) error {
	dir := os.NewFile(uintptr(fd), "folder")
	defer dir.Close()
	if depth > maxNesting {
		return ErrNesting
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
	sub, leave, err := enter(fd, name)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP),
		errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		// Missing, replaced, or owned by another user.
		return nil
	case err != nil:
		return os.NewSyscallError("openat", err)
	}
	defer leave()
	return eachBelow(ctx, sub, depth+1, visit)
}
