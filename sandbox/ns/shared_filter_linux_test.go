package ns_test

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"fawn/agent/agenttest/must"
	"fawn/sandbox"
	"fawn/sandbox/ns"
)

func TestSharedFilterKeepsCommandsFromOthers(t *testing.T) {
	program := must.Get(ns.SharedFilter(nil))(t)
	const perm, family = refused | uint32(unix.EPERM), refused | uint32(unix.EAFNOSUPPORT)
	for name, c := range map[string]struct {
		number uint32
		args   []uint64
		want   uint32
	}{
		"local stream":              {unix.SYS_SOCKET, []uint64{unix.AF_UNIX, unix.SOCK_STREAM | unix.SOCK_CLOEXEC, 0}, allowed},
		"local packets":             {unix.SYS_SOCKETPAIR, []uint64{unix.AF_UNIX, unix.SOCK_SEQPACKET | unix.SOCK_NONBLOCK, 0}, allowed},
		"local datagrams":           {unix.SYS_SOCKET, []uint64{unix.AF_UNIX, unix.SOCK_DGRAM, 0}, perm},
		"pair of datagrams":         {unix.SYS_SOCKETPAIR, []uint64{unix.AF_UNIX, unix.SOCK_DGRAM | unix.SOCK_CLOEXEC, 0}, perm},
		"raw, which are datagrams":  {unix.SYS_SOCKET, []uint64{unix.AF_UNIX, unix.SOCK_RAW, 0}, perm},
		"internet":                  {unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_STREAM, 0}, family},
		"internet, high bits":       {unix.SYS_SOCKET, []uint64{1<<32 | unix.AF_INET, unix.SOCK_STREAM, 0}, family},
		"internet 6":                {unix.SYS_SOCKET, []uint64{unix.AF_INET6, unix.SOCK_DGRAM, 0}, family},
		"routes":                    {unix.SYS_SOCKET, []uint64{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE}, family},
		"hypervisor":                {unix.SYS_SOCKET, []uint64{unix.AF_VSOCK, unix.SOCK_STREAM, 0}, family},
		"connect":                   {unix.SYS_CONNECT, []uint64{3}, perm},
		"memory of System V":        {unix.SYS_SHMGET, nil, perm},
		"attached memory":           {unix.SYS_SHMAT, nil, perm},
		"queue":                     {unix.SYS_MQ_OPEN, nil, perm},
		"own limit":                 {unix.SYS_PRLIMIT64, []uint64{0, unix.RLIMIT_NOFILE}, allowed},
		"limit of another":          {unix.SYS_PRLIMIT64, []uint64{1, unix.RLIMIT_NOFILE}, perm},
		"own priority":              {unix.SYS_SETPRIORITY, []uint64{unix.PRIO_PROCESS, 0, 10}, allowed},
		"priority of another":       {unix.SYS_SETPRIORITY, []uint64{unix.PRIO_PROCESS, 1, 10}, perm},
		"priority of own user":      {unix.SYS_SETPRIORITY, []uint64{unix.PRIO_USER, 0, 10}, perm},
		"input priority of another": {unix.SYS_IOPRIO_SET, []uint64{1, 1}, perm},
		"own input priority":        {unix.SYS_IOPRIO_SET, []uint64{1, 0}, allowed},
		"scheduling of another":     {unix.SYS_SCHED_SETSCHEDULER, []uint64{1}, perm},
		"user namespace":            {unix.SYS_CLONE, []uint64{unix.CLONE_NEWUSER}, perm},
		"mount":                     {unix.SYS_MOUNT, nil, perm},
		"trace":                     {unix.SYS_PTRACE, nil, perm},
		"news of folders":           {unix.SYS_INOTIFY_INIT1, nil, perm},
		"flags of a file":           {unix.SYS_IOCTL, []uint64{3, unix.FS_IOC_SETFLAGS}, refused | uint32(unix.ENOTTY)},
		"project of a file":         {unix.SYS_IOCTL, []uint64{3, 0x401c5820}, refused | uint32(unix.ENOTTY)},
		"size of a terminal":        {unix.SYS_IOCTL, []uint64{1, unix.TIOCGWINSZ}, allowed},
		"large buffer":              {unix.SYS_SETSOCKOPT, []uint64{3, unix.SOL_SOCKET, unix.SO_SNDBUF}, refused},
		"other option":              {unix.SYS_SETSOCKOPT, []uint64{3, unix.SOL_SOCKET, unix.SO_REUSEADDR}, allowed},
		"mode, as another user":     {unix.SYS_FCHMODAT, []uint64{0, 0, 0o644}, allowed},
		"read":                      {unix.SYS_READ, nil, allowed},
		"process":                   {unix.SYS_CLONE, []uint64{uint64(unix.SIGCHLD)}, allowed},
	} {
		t.Run(name, func(t *testing.T) {
			if got := decide(t, program, nativeArch(), c.number, c.args...); got != c.want {
				t.Errorf("%#x, want %#x", got, c.want)
			}
		})
	}
	if got := decide(t, program, 0, unix.SYS_READ); got != ended {
		t.Errorf("another architecture: %#x", got)
	}
	program = must.Get(ns.SharedFilter([]string{"connect"}))(t)
	if got := decide(t, program, nativeArch(), unix.SYS_CONNECT, 3); got != allowed {
		t.Errorf("connect, when the owner allows it: %#x", got)
	}
	if _, err := ns.SharedFilter([]string{"read"}); !errors.Is(err, sandbox.ErrConfig) {
		t.Errorf("a call that is not refused: %v", err)
	}
}

// TestTheKeeperIsAskedAboutMetadata: Landlock has no rights for modes, owners, times and attributes.
func TestTheKeeperIsAskedAboutMetadata(t *testing.T) {
	program := must.Get(ns.FilterOf(ns.FilterOptions{Shared: true, Metadata: true}))(t)
	const asks = 0x7fc00000
	for _, number := range []uint32{unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWN,
		unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT, unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR,
		unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR} {
		if got := decide(t, program, nativeArch(), number, 0, 0, 0o644, 0); got != asks {
			t.Errorf("call %d: %#x", number, got)
		}
	}
	for number, want := range map[uint32]uint32{463: refused | uint32(unix.ENOSYS), 466: refused | uint32(unix.ENOSYS),
		469: refused | uint32(unix.ENOSYS), unix.SYS_READ: allowed, unix.SYS_MEMFD_SECRET: refused | uint32(unix.EPERM)} {
		if got := decide(t, program, nativeArch(), number); got != want {
			t.Errorf("call %d: %#x, want %#x", number, got, want)
		}
	}
	if got := decide(t, program, nativeArch(), unix.SYS_FCHMOD, 3, 0o4755); got != refused|uint32(unix.EPERM) {
		t.Errorf("setuid: %#x", got)
	}
}
