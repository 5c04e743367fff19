package ns_test

import (
	"encoding/binary"
	"errors"
	"runtime"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"fawn/agent/agenttest/must"
	"fawn/sandbox"
	"fawn/sandbox/ns"
)

const (
	allowed = 0x7fff0000
	ended   = 0x80000000
	refused = 0x00050000
)

// decide runs a filter on a system call, as the kernel would.
func decide(t testing.TB, program []bpf.Instruction, arch, number uint32, args ...uint64) uint32 {
	t.Helper()
	vm := must.Get(bpf.NewVM(program))(t)
	// The interpreter reads in network order, the kernel in that of the machine.
	data := make([]byte, 64)
	binary.BigEndian.PutUint32(data, number)
	binary.BigEndian.PutUint32(data[4:], arch)
	for i, a := range args {
		binary.BigEndian.PutUint32(data[16+8*i:], uint32(a))
		binary.BigEndian.PutUint32(data[20+8*i:], uint32(a>>32))
	}
	n := must.Get(vm.Run(data))(t)
	return uint32(n)
}

func nativeArch() uint32 {
	if runtime.GOARCH == "arm64" {
		return unix.AUDIT_ARCH_AARCH64
	}
	return unix.AUDIT_ARCH_X86_64
}

func TestFilterDecidesBySystemCallAndArguments(t *testing.T) {
	program := must.Get(ns.Filter(nil, false))(t)
	const perm, nosys, family = refused | uint32(unix.EPERM), refused | uint32(unix.ENOSYS),
		refused | uint32(unix.EAFNOSUPPORT)
	thread := uint64(unix.CLONE_VM | unix.CLONE_FS | unix.CLONE_FILES | unix.CLONE_SIGHAND | unix.CLONE_THREAD |
		unix.CLONE_SYSVSEM)
	for name, c := range map[string]struct {
		number uint32
		args   []uint64
		want   uint32
	}{
		"read":                         {unix.SYS_READ, nil, allowed},
		"exec":                         {unix.SYS_EXECVE, nil, allowed},
		"number 0":                     {0, nil, allowed},
		"unknown":                      {3000, nil, allowed},
		"mount":                        {unix.SYS_MOUNT, nil, perm},
		"ptrace":                       {unix.SYS_PTRACE, nil, perm},
		"unnamed file":                 {unix.SYS_MEMFD_CREATE, nil, perm},
		"clone3":                       {unix.SYS_CLONE3, nil, nosys},
		"openat2":                      {unix.SYS_OPENAT2, nil, nosys},
		"thread":                       {unix.SYS_CLONE, []uint64{thread}, allowed},
		"process":                      {unix.SYS_CLONE, []uint64{uint64(unix.SIGCHLD)}, allowed},
		"user namespace":               {unix.SYS_CLONE, []uint64{unix.CLONE_NEWUSER}, perm},
		"namespace among others":       {unix.SYS_CLONE, []uint64{thread | unix.CLONE_NEWNET}, perm},
		"namespace with high bits":     {unix.SYS_CLONE, []uint64{1<<40 | unix.CLONE_NEWNS}, perm},
		"terminal size":                {unix.SYS_IOCTL, []uint64{1, unix.TIOCGWINSZ}, allowed},
		"terminal typing":              {unix.SYS_IOCTL, []uint64{1, unix.TIOCSTI}, perm},
		"terminal typing, high bits":   {unix.SYS_IOCTL, []uint64{1, 1<<32 | unix.TIOCSTI}, perm},
		"console":                      {unix.SYS_IOCTL, []uint64{1, 0x541c}, perm},
		"mode":                         {unix.SYS_FCHMOD, []uint64{3, 0o755}, allowed},
		"sticky":                       {unix.SYS_FCHMOD, []uint64{3, 0o1777}, allowed},
		"setuid":                       {unix.SYS_FCHMOD, []uint64{3, 0o4755}, perm},
		"setgid":                       {unix.SYS_FCHMODAT, []uint64{3, 0, 0o2755}, perm},
		"setuid, newer call":           {452, []uint64{3, 0, 0o4000, 0}, perm},
		"open":                         {unix.SYS_OPENAT, []uint64{0, 0, unix.O_RDONLY, 0o4755}, allowed},
		"create":                       {unix.SYS_OPENAT, []uint64{0, 0, unix.O_CREAT | unix.O_WRONLY, 0o644}, allowed},
		"create setuid":                {unix.SYS_OPENAT, []uint64{0, 0, unix.O_CREAT | unix.O_WRONLY, 0o4755}, perm},
		"create unnamed setgid":        {unix.SYS_OPENAT, []uint64{0, 0, unix.O_TMPFILE | unix.O_RDWR, 0o2755}, perm},
		"folder":                       {unix.SYS_OPENAT, []uint64{0, 0, unix.O_DIRECTORY, 0o2755}, allowed},
		"socket of this machine":       {unix.SYS_SOCKET, []uint64{unix.AF_UNIX, unix.SOCK_STREAM, 0}, allowed},
		"socket of the internet":       {unix.SYS_SOCKET, []uint64{unix.AF_INET6, unix.SOCK_DGRAM, 17}, allowed},
		"socket of the kernel: routes": {unix.SYS_SOCKET, []uint64{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE}, allowed},
		"socket of the kernel: audit":  {unix.SYS_SOCKET, []uint64{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT}, family},
		"socket of the hypervisor":     {unix.SYS_SOCKET, []uint64{unix.AF_VSOCK, unix.SOCK_STREAM, 0}, family},
		"packets":                      {unix.SYS_SOCKET, []uint64{unix.AF_PACKET, unix.SOCK_RAW, 3}, family},
		"second numbering":             {0x40000000 | unix.SYS_READ, nil, nosys},
	} {
		t.Run(name, func(t *testing.T) {
			if got := decide(t, program, nativeArch(), c.number, c.args...); got != c.want {
				t.Errorf("%#x, want %#x", got, c.want)
			}
		})
	}
	for _, arch := range []uint32{unix.AUDIT_ARCH_I386, unix.AUDIT_ARCH_ARM, 0} {
		if got := decide(t, program, arch, unix.SYS_READ); got != ended {
			t.Errorf("architecture %#x: %#x", arch, got)
		}
	}
}

func TestOwnersCanAllowSystemCalls(t *testing.T) {
	program := must.Get(ns.Filter([]string{"ptrace", "memfd_create"}, false))(t)
	for _, number := range []uint32{unix.SYS_PTRACE, unix.SYS_MEMFD_CREATE} {
		if got := decide(t, program, nativeArch(), number); got != allowed {
			t.Errorf("%d: %#x", number, got)
		}
	}
	if got := decide(t, program, nativeArch(), unix.SYS_MOUNT); got == allowed {
		t.Error("mount is allowed too")
	}
	if _, err := ns.Filter([]string{"clone"}, false); !errors.Is(err, sandbox.ErrConfig) {
		t.Errorf("a call that is not on the list: %v", err)
	}
	program = must.Get(ns.Filter(nil, true))(t)
	if got := decide(t, program, nativeArch(), unix.SYS_MEMFD_CREATE); got != allowed {
		t.Errorf("unnamed files where memory is counted: %#x", got)
	}
}
