package ns

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

func refusedCallsArch() map[string]uint32 { return nil }

func sharedCallsArch() map[string]uint32 { return nil }

func changesIdentityArch(_, _, _ func(int) condition) []refusalRule { return nil }
