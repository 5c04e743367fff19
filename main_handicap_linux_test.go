package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// handicapVariable names what the program has to do without.
const handicapVariable = "FAWN_TEST_HANDICAP"

// Handicaps of a host.
const (
	noNamespaces = "no-namespaces" // a filter of system calls refuses them
	noneOfBoth   = "none-of-both"  // and the kernel has no Landlock
	limitOf0     = "limit-of-0"    // there may be no user namespaces below its own
	maskedProc   = "masked-proc"   // a part of /proc is hidden, as in a container
)

// handicap takes something away from this process, if it is told to, and starts it again.
func handicap() {
	what := os.Getenv(handicapVariable)
	if what == "" {
		return
	}
	err := os.Unsetenv(handicapVariable)
	runtime.LockOSThread()
	switch what {
	case noNamespaces:
		err = errors.Join(err, filter(unix.SYS_UNSHARE))
	case noneOfBoth:
		err = errors.Join(err, filter(unix.SYS_UNSHARE, unix.SYS_LANDLOCK_CREATE_RULESET, unix.SYS_LANDLOCK_ADD_RULE,
			unix.SYS_LANDLOCK_RESTRICT_SELF))
	case limitOf0:
		err = errors.Join(err, os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0))
	case maskedProc:
		err = errors.Join(err, unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""),
			unix.Mount("tmpfs", "/proc/fs", "tmpfs", unix.MS_RDONLY, ""))
	default:
		err = errors.New("no such handicap")
	}
	if err == nil {
		err = unix.Exec("/proc/self/exe", os.Args, os.Environ())
	}
	fmt.Fprintln(os.Stderr, "handicap:", err)
	os.Exit(1)
}

// filter refuses new user namespaces, as containers do, and says of further calls that the
// kernel does not have them.
func filter(refused int, absent ...int) error {
	const (
		nr    = 0
		flags = 16 // the lower half of the first argument
		allow = unix.SECCOMP_RET_ALLOW
		perm  = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
		nosys = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	)
	program := []bpf.Instruction{
		bpf.LoadAbsolute{Off: nr, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_CLONE, SkipTrue: 3},
		bpf.LoadAbsolute{Off: flags, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: unix.CLONE_NEWUSER, SkipTrue: 1},
		bpf.RetConstant{Val: perm},
		bpf.LoadAbsolute{Off: nr, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(refused), SkipTrue: 1},
		bpf.RetConstant{Val: perm},
	}
	for _, call := range append(absent, unix.SYS_CLONE3) { // its flags are out of sight
		program = append(program, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(call), SkipTrue: 1},
			bpf.RetConstant{Val: nosys})
	}
	raw, err := bpf.Assemble(append(program, bpf.RetConstant{Val: allow}))
	if err != nil {
		return err
	}
	list := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		list[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	f := unix.SockFprog{Len: uint16(len(list)), Filter: &list[0]}
	err = unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&f)), 0, 0)
	runtime.KeepAlive(list)
	return err
}
