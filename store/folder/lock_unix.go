//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package folder

import (
	"errors"
	"os"
	"syscall"
)

// lockFile opens path and locks it exclusively. The system releases the lock when the process ends; held means that
// another process has it.
func lockFile(path string) (f *os.File, held bool, err error) {
	f, err = os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, false, err
	}
	return hold(f)
}

// holdForReading is lockFile for an existing file that can't be written to.
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

// unlock releases the lock before the file is closed: a program being started briefly inherits all open files of this
// one, including their locks.
func unlock(f *os.File) {
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) // closing it also releases the lock
}

// fileNumber distinguishes a file from a copy of it, 0 if unknown.
func fileNumber(f *os.File) uint64 { return numberOf(f.Stat()) }

// numberAt is fileNumber for a path.
func numberAt(path string) uint64 { return numberOf(os.Stat(path)) }

func numberOf(info os.FileInfo, err error) uint64 {
	if err != nil {
		return 0
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return uint64(s.Ino)
}
