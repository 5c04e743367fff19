package folder

import (
	"errors"
	"os"
	"syscall"
)

// errSharing is the system's error if another process has opened the file exclusively.
const errSharing = syscall.Errno(32)

// lockFile opens path for exclusive writing; others may read it. The system releases it when the process ends; held
// means that another process has it.
func lockFile(path string) (f *os.File, held bool, err error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, false, err
	}
	h, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, syscall.FILE_SHARE_READ, nil,
		syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		return nil, errors.Is(err, errSharing), &os.PathError{Op: "lock", Path: path, Err: err}
	}
	return os.NewFile(uintptr(h), path), false, nil
}

// holdForReading is lockFile for an existing file that can't be written to.
func holdForReading(path string) (f *os.File, held bool, err error) {
	f, err = os.Open(path)
	return f, errors.Is(err, errSharing), err
}

// unlock does nothing: closing the file releases it, since started programs don't inherit it.
func unlock(*os.File) {}

// fileNumber distinguishes a file from a copy of it, 0 if unknown.
func fileNumber(f *os.File) uint64 {
	var info syscall.ByHandleFileInformation
	if syscall.GetFileInformationByHandle(syscall.Handle(f.Fd()), &info) != nil {
		return 0
	}
	return uint64(info.FileIndexHigh)<<32 | uint64(info.FileIndexLow)
}

// numberAt is fileNumber for a path.
func numberAt(path string) uint64 {
	f, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer f.Close()
	return fileNumber(f)
}
