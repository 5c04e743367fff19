//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package store

import (
	"errors"
	"os"
	"syscall"
)

// lockFile opens path and takes it for this process alone. The system lets go
// of it when the process ends in whatever way; held says that another has it.
func lockFile(path string) (f *os.File, held bool, err error) {
	f, err = os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, false, err
	}
	return hold(f)
}

// holdForReading is lockFile for a file that is there and cannot be written to.
func holdForReading(path string) (f *os.File, held bool, err error) {
	f, err = os.Open(path)
	if err != nil {
		return nil, false, err
	}
	return hold(f)
}

func hold(f *os.File) (_ *os.File, held bool, err error) {
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		f.Close()
		return nil, errors.Is(err, syscall.EWOULDBLOCK), err
	}
	return f, false, nil
}

// unlock lets go of a file before it is closed: until a program that is just being started runs, it has all files of
// this one open, too, and with them what they hold.
func unlock(f *os.File) {
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) // closing it is the other way
}

// fileNumber tells a file from a copy of it, 0 when that is not known.
func fileNumber(f *os.File) uint64 {
	if info, err := f.Stat(); err == nil {
		if s, ok := info.Sys().(*syscall.Stat_t); ok {
			return uint64(s.Ino)
		}
	}
	return 0
}
