package providers_test

import (
	"encoding/binary"
	"runtime"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"fawn/sandbox/ns"
)

// installFilter puts the filter of sandboxes on the calling thread.
func installFilter() error {
	b, err := ns.NewFilter(ns.FilterOptions{UnnamedFiles: true})
	if err != nil {
		return err
	}
	return install(b)
}

// installBareFilter puts a filter on the calling thread that takes namespaces
// and Landlock away.
func installBareFilter() error {
	raw, err := bpf.Assemble([]bpf.Instruction{
		bpf.LoadAbsolute{Off: 0, Size: 4}, // the number of the call
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SYS_LANDLOCK_CREATE_RULESET, SkipFalse: 1},
		bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
		bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW},
	})
	if err != nil {
		return err
	}
	var b []byte
	for _, in := range raw {
		b = binary.NativeEndian.AppendUint16(b, in.Op)
		b = append(b, in.Jt, in.Jf)
		b = binary.NativeEndian.AppendUint32(b, in.K)
	}
	if err := install(b); err != nil {
		return err
	}
	return installFilter()
}

func install(b []byte) error {
	program := make([]uint64, len(b)/8)
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&program[0])), len(b)), b)
	f := struct {
		n      uint16
		_      [6]byte
		filter *uint64
	}{n: uint16(len(program)), filter: &program[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	_, _, e := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&f)))
	if e != 0 {
		return e
	}
	runtime.KeepAlive(program)
	return nil
}
