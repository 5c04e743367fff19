package ns

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

func refusedCallsArch() map[string]uint32 {
	return map[string]uint32{
		"iopl": unix.SYS_IOPL, "ioperm": unix.SYS_IOPERM, "modify_ldt": unix.SYS_MODIFY_LDT, "uselib": unix.SYS_USELIB,
		"_sysctl": unix.SYS__SYSCTL, "ustat": unix.SYS_USTAT, "sysfs": unix.SYS_SYSFS,
	}
}

// sharedCallsArch returns the calls of sharedCalls that newer architectures lack.
func sharedCallsArch() map[string]uint32 {
	return map[string]uint32{"inotify_init": unix.SYS_INOTIFY_INIT}
}

// changesIdentityArch adds the calls that newer architectures lack.
func changesIdentityArch(mode, creates, unnamed func(int) condition) []refusalRule {
	return []refusalRule{
		when(unix.SYS_CHMOD, unix.EPERM, mode(1)),
		when(unix.SYS_CREAT, unix.EPERM, mode(1)),
		when(unix.SYS_MKNOD, unix.EPERM, mode(1)),
		when(unix.SYS_OPEN, unix.EPERM, creates(1), mode(2)),
		when(unix.SYS_OPEN, unix.EPERM, unnamed(1), mode(2)),
	}
}
