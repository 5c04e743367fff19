package ns

import (
	"maps"

	"golang.org/x/sys/unix"

	"fawn/sandbox/jail"
)

// sharedCalls are denied if a command isn't isolated from the host's messages. Services of the host, such as the one
// that starts a user's programs, listen on path sockets, which file rules don't cover: so no socket may connect.
// Notifications about folders that may not be listed are denied too.
func sharedCalls() map[string]uint32 {
	all := map[string]uint32{
		"connect": unix.SYS_CONNECT,
		"shmget":  unix.SYS_SHMGET, "shmat": unix.SYS_SHMAT, "shmctl": unix.SYS_SHMCTL,
		"msgget": unix.SYS_MSGGET, "msgsnd": unix.SYS_MSGSND, "msgrcv": unix.SYS_MSGRCV, "msgctl": unix.SYS_MSGCTL,
		"semget": unix.SYS_SEMGET, "semop": unix.SYS_SEMOP, "semtimedop": unix.SYS_SEMTIMEDOP,
		"semctl": unix.SYS_SEMCTL, "process_mrelease": unix.SYS_PROCESS_MRELEASE,
		"mq_open": unix.SYS_MQ_OPEN, "mq_unlink": unix.SYS_MQ_UNLINK,
		"inotify_init1": unix.SYS_INOTIFY_INIT1, "inotify_add_watch": unix.SYS_INOTIFY_ADD_WATCH,
	}
	maps.Copy(all, sharedCallsArch())
	return all
}

// Calls newer than some kernels; their arguments are in memory, which a filter can't read.
const (
	sysSetxattrat    = 463
	sysRemovexattrat = 466
	sysFileSetattr   = 469
)

// metadataRules ask the keeper about changes of modes, owners, times and attributes.
func metadataRules() (rules []refusalRule) {
	for _, number := range jail.MetadataCalls() {
		rules = append(rules, refusalRule{number: number, ask: true})
	}
	for _, number := range []uint32{sysSetxattrat, sysRemovexattrat, sysFileSetattr} {
		rules = append(rules, refusalRule{number: number, errno: unix.ENOSYS})
	}
	return rules
}

// sharedRules deny calls with effects on other processes: sockets other than local pairs and streams, and settings of
// other processes, including the server's.
func sharedRules() []refusalRule {
	const kind = 0xf // the type of a socket without its flags
	var rules []refusalRule
	// Ioctls of an open file can change more than its content, regardless of its mode: flags, versions, projects,
	// snapshots. The letters are those of file systems.
	for _, letter := range []uint32{'f', 'v', 'X', 0x94} {
		rules = append(rules, when(unix.SYS_IOCTL, unix.ENOTTY, condition{arg: 1, mask: 0xff00, val: letter << 8}))
	}
	for _, call := range []uint32{unix.SYS_SOCKET, unix.SYS_SOCKETPAIR} {
		rules = append(rules,
			when(call, unix.EAFNOSUPPORT, condition{arg: 0, mask: allBits, val: unix.AF_UNIX, differs: true}),
			// Others can send to an address without being connected.
			when(call, unix.EPERM,
				condition{arg: 1, mask: kind, val: unix.SOCK_STREAM, differs: true},
				condition{arg: 1, mask: kind, val: unix.SOCK_SEQPACKET, differs: true}))
	}
	for _, call := range []uint32{unix.SYS_PRLIMIT64, unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_SETSCHEDULER,
		unix.SYS_SCHED_SETATTR, unix.SYS_SCHED_SETAFFINITY} {
		rules = append(rules, when(call, unix.EPERM, condition{arg: 0, mask: allBits, differs: true}))
	}
	// The first argument is the type of the second; commands may not change settings of a whole user.
	const priorityOfProcess, ioOfProcess = unix.PRIO_PROCESS, 1
	for call, which := range map[uint32]uint32{unix.SYS_SETPRIORITY: priorityOfProcess,
		unix.SYS_IOPRIO_SET: ioOfProcess} {
		rules = append(rules,
			when(call, unix.EPERM, condition{arg: 0, mask: allBits, val: which, differs: true}),
			when(call, unix.EPERM, condition{arg: 1, mask: allBits, differs: true}))
	}
	return rules
}
