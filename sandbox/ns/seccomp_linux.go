package ns

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"fawn/sandbox"
)

// Answers of a filter.
const (
	filterAllow = 0x7fff0000
	filterErrno = 0x00050000
	filterAsk   = 0x7fc00000
	filterKill  = 0x80000000
)

// Offsets in the data that a filter examines.
const (
	offsetNumber = 0
	offsetArch   = 4
	offsetArgs   = 16
)

// condition compares the low half of an argument, masked. Linux itself uses only the low half of the arguments in the
// rules.
type condition struct {
	arg       int
	mask, val uint32
	differs   bool
}

// refusalRule answers a system call when all conditions hold: with an error, without doing
// anything if that is 0, or by asking the keeper.
type refusalRule struct {
	number     uint32
	errno      unix.Errno
	conditions []condition
	ask        bool
}

// answer returns the return value of a filter.
func (r refusalRule) answer() uint32 {
	if r.ask {
		return filterAsk
	}
	return filterErrno | uint32(r.errno)
}

const (
	allBits = 0xffffffff
	// Numbers newer than some kernels are the same on all systems.
	sysFchmodat2    = 452
	sysOpenTreeAttr = 467
	tiocLinux       = 0x541c
)

// refusedCalls lists calls denied with EPERM: calls that change mounts or namespaces, inspect other processes, or reach
// rarely used and vulnerable parts of the kernel. Owners may allow some by name.
func refusedCalls() map[string]uint32 {
	all := map[string]uint32{
		"mount": unix.SYS_MOUNT, "umount2": unix.SYS_UMOUNT2, "pivot_root": unix.SYS_PIVOT_ROOT,
		"chroot": unix.SYS_CHROOT, "open_tree": unix.SYS_OPEN_TREE, "open_tree_attr": sysOpenTreeAttr,
		"move_mount": unix.SYS_MOVE_MOUNT, "fsopen": unix.SYS_FSOPEN, "fsconfig": unix.SYS_FSCONFIG,
		"fsmount": unix.SYS_FSMOUNT, "fspick": unix.SYS_FSPICK, "mount_setattr": unix.SYS_MOUNT_SETATTR,
		"setns": unix.SYS_SETNS, "unshare": unix.SYS_UNSHARE, "keyctl": unix.SYS_KEYCTL, "add_key": unix.SYS_ADD_KEY,
		"request_key": unix.SYS_REQUEST_KEY, "bpf": unix.SYS_BPF, "perf_event_open": unix.SYS_PERF_EVENT_OPEN,
		"userfaultfd": unix.SYS_USERFAULTFD, "io_uring_setup": unix.SYS_IO_URING_SETUP,
		"io_uring_enter": unix.SYS_IO_URING_ENTER, "io_uring_register": unix.SYS_IO_URING_REGISTER,
		"kexec_load": unix.SYS_KEXEC_LOAD, "kexec_file_load": unix.SYS_KEXEC_FILE_LOAD, "reboot": unix.SYS_REBOOT,
		"init_module": unix.SYS_INIT_MODULE, "finit_module": unix.SYS_FINIT_MODULE,
		"delete_module": unix.SYS_DELETE_MODULE, "swapon": unix.SYS_SWAPON, "swapoff": unix.SYS_SWAPOFF,
		"acct": unix.SYS_ACCT, "quotactl": unix.SYS_QUOTACTL, "quotactl_fd": unix.SYS_QUOTACTL_FD,
		"ptrace": unix.SYS_PTRACE, "process_vm_readv": unix.SYS_PROCESS_VM_READV,
		"process_vm_writev": unix.SYS_PROCESS_VM_WRITEV,
		"pidfd_getfd":       unix.SYS_PIDFD_GETFD, "kcmp": unix.SYS_KCMP, "process_madvise": unix.SYS_PROCESS_MADVISE,
		"name_to_handle_at": unix.SYS_NAME_TO_HANDLE_AT, "open_by_handle_at": unix.SYS_OPEN_BY_HANDLE_AT,
		"fanotify_init": unix.SYS_FANOTIFY_INIT, "fanotify_mark": unix.SYS_FANOTIFY_MARK,
		"syslog": unix.SYS_SYSLOG, "settimeofday": unix.SYS_SETTIMEOFDAY, "clock_settime": unix.SYS_CLOCK_SETTIME,
		"clock_adjtime": unix.SYS_CLOCK_ADJTIME, "adjtimex": unix.SYS_ADJTIMEX,
		"sethostname": unix.SYS_SETHOSTNAME, "setdomainname": unix.SYS_SETDOMAINNAME, "vhangup": unix.SYS_VHANGUP,
		"lookup_dcookie": unix.SYS_LOOKUP_DCOOKIE, "nfsservctl": unix.SYS_NFSSERVCTL,
		"migrate_pages": unix.SYS_MIGRATE_PAGES, "move_pages": unix.SYS_MOVE_PAGES, "personality": unix.SYS_PERSONALITY,
		"lsm_set_self_attr": unix.SYS_LSM_SET_SELF_ATTR, "memfd_secret": unix.SYS_MEMFD_SECRET,
	}
	maps.Copy(all, refusedCallsArch())
	return all
}

// FilterOptions are an owner's choices for a filter.
type FilterOptions struct {
	Allow []string
	// UnnamedFiles may be created, and socket buffers may exceed the default; without a control group they would be
	// unaccounted memory.
	UnnamedFiles bool
	// Shared means a sandbox without namespaces: it shares network, messages and processes with the host.
	Shared bool
	// Metadata asks the keeper about changes of modes, owners, times and attributes, see
	// [jail.MetadataCalls].
	Metadata bool
}

// NewFilter builds the filter for this system, 8 bytes per instruction. Unknown names return ErrConfig.
func NewFilter(o FilterOptions) ([]byte, error) {
	rules, err := refusals(o)
	if err != nil {
		return nil, err
	}
	raw, err := bpf.Assemble(filterProgram(rules))
	if err != nil {
		return nil, fmt.Errorf("assemble filter: %w", err)
	}
	b := make([]byte, 0, 8*len(raw))
	for _, in := range raw {
		b = binary.NativeEndian.AppendUint16(b, in.Op)
		b = append(b, in.Jt, in.Jf)
		b = binary.NativeEndian.AppendUint32(b, in.K)
	}
	return b, nil
}

func refusals(o FilterOptions) ([]refusalRule, error) {
	calls := refusedCalls()
	if !o.UnnamedFiles {
		calls["memfd_create"] = unix.SYS_MEMFD_CREATE
	}
	if o.Shared {
		maps.Copy(calls, sharedCalls())
	}
	for _, name := range o.Allow {
		if _, ok := calls[name]; !ok && name != "memfd_create" {
			return nil, fmt.Errorf("%w: seccomp.allow: %q is not among the refused system calls",
				sandbox.ErrConfig, name)
		}
		delete(calls, name)
	}
	var rules []refusalRule
	for _, number := range slices.Sorted(maps.Values(calls)) {
		rules = append(rules, refusalRule{number: number, errno: unix.EPERM})
	}
	// These calls pass their arguments in memory, which a filter can't read; programs fall back to older calls.
	rules = append(rules,
		refusalRule{number: unix.SYS_CLONE3, errno: unix.ENOSYS},
		refusalRule{number: unix.SYS_OPENAT2, errno: unix.ENOSYS})
	for _, flag := range []uint32{
		unix.CLONE_NEWUSER, unix.CLONE_NEWNS, unix.CLONE_NEWPID, unix.CLONE_NEWNET, unix.CLONE_NEWIPC,
		unix.CLONE_NEWUTS, unix.CLONE_NEWCGROUP,
	} {
		rules = append(rules, when(unix.SYS_CLONE, unix.EPERM, condition{arg: 0, mask: flag, val: flag}))
	}
	// Typing into terminals of others.
	for _, request := range []uint32{unix.TIOCSTI, tiocLinux} {
		rules = append(rules, when(unix.SYS_IOCTL, unix.EPERM, condition{arg: 1, mask: allBits, val: request}))
	}
	for _, bit := range []uint32{unix.S_ISUID, unix.S_ISGID} {
		rules = append(rules, changesIdentity(bit)...)
	}
	if !o.UnnamedFiles {
		rules = append(rules, usualBuffers()...)
	}
	if o.Metadata {
		rules = append(rules, metadataRules()...)
	}
	if o.Shared {
		return append(rules, sharedRules()...), nil
	}
	return append(rules, sockets()...), nil
}

func when(number uint32, errno unix.Errno, all ...condition) refusalRule {
	return refusalRule{number: number, errno: errno, conditions: all}
}

// changesIdentity denies creating set-user-id and set-group-id files, which another user of the host might run.
func changesIdentity(bit uint32) []refusalRule {
	mode := func(arg int) condition { return condition{arg: arg, mask: bit, val: bit} }
	creates := func(arg int) condition { return condition{arg: arg, mask: unix.O_CREAT, val: unix.O_CREAT} }
	unnamed := func(arg int) condition {
		return condition{arg: arg, mask: unix.O_TMPFILE, val: unix.O_TMPFILE}
	}
	return append(changesIdentityArch(mode, creates, unnamed),
		when(unix.SYS_FCHMOD, unix.EPERM, mode(1)),
		when(unix.SYS_FCHMODAT, unix.EPERM, mode(2)),
		when(sysFchmodat2, unix.EPERM, mode(2)),
		when(unix.SYS_MKNODAT, unix.EPERM, mode(2)),
		when(unix.SYS_OPENAT, unix.EPERM, creates(2), mode(3)),
		when(unix.SYS_OPENAT, unix.EPERM, unnamed(2), mode(3)),
	)
}

// usualBuffers ignores requests for other sizes of socket buffers, like a system with low limits.
func usualBuffers() (rules []refusalRule) {
	for _, option := range []uint32{unix.SO_SNDBUF, unix.SO_RCVBUF, unix.SO_SNDBUFFORCE, unix.SO_RCVBUFFORCE} {
		rules = append(rules, when(unix.SYS_SETSOCKOPT, 0,
			condition{arg: 1, mask: allBits, val: unix.SOL_SOCKET},
			condition{arg: 2, mask: allBits, val: option}))
	}
	return rules
}

// sockets allows the families confined to the network namespace. Others, such as those for the hypervisor, ignore
// namespaces.
func sockets() []refusalRule {
	var other []condition
	for _, family := range []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK} {
		other = append(other, condition{arg: 0, mask: allBits, val: family, differs: true})
	}
	return []refusalRule{
		when(unix.SYS_SOCKET, unix.EAFNOSUPPORT, other...),
		when(unix.SYS_SOCKET, unix.EAFNOSUPPORT,
			condition{arg: 0, mask: allBits, val: unix.AF_NETLINK},
			condition{arg: 2, mask: allBits, val: unix.NETLINK_ROUTE, differs: true}),
	}
}

// filterProgram tries the rules in order. Calls of another architecture end the process: their numbers
// mean something else.
func filterProgram(rules []refusalRule) []bpf.Instruction {
	load := func(offset uint32) bpf.Instruction { return bpf.LoadAbsolute{Off: offset, Size: 4} }
	p := []bpf.Instruction{
		load(offsetArch),
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: auditArch, SkipTrue: 1},
		bpf.RetConstant{Val: filterKill},
		load(offsetNumber),
		// The second numbering that amd64 has; no number of others is as large.
		bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: 0x40000000, SkipFalse: 1},
		bpf.RetConstant{Val: filterErrno | uint32(unix.ENOSYS)},
	}
	for _, r := range rules {
		var body []bpf.Instruction
		for i, c := range r.conditions {
			// To the end of the body, where the number is loaded again.
			skip := uint8(3*(len(r.conditions)-i-1) + 1)
			cond := bpf.JumpEqual
			if c.differs {
				cond = bpf.JumpNotEqual
			}
			body = append(body, load(uint32(offsetArgs+8*c.arg)),
				bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: c.mask},
				bpf.JumpIf{Cond: cond, Val: c.val, SkipFalse: skip})
		}
		body = append(body, bpf.RetConstant{Val: r.answer()})
		if len(r.conditions) > 0 {
			body = append(body, load(offsetNumber))
		}
		p = append(p, bpf.JumpIf{Cond: bpf.JumpEqual, Val: r.number, SkipFalse: uint8(len(body))})
		p = append(p, body...)
	}
	return append(p, bpf.RetConstant{Val: filterAllow})
}
