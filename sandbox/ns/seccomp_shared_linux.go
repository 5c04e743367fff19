package ns

import "golang.org/x/sys/unix"

// sharedCalls are refused where nothing keeps a command's messages apart from
// those of the host. Services of the host, such as the one that starts programs
// for its user, listen on sockets with a path, and no rule about files stands
// between: so no socket can be connected.
func sharedCalls() map[string]uint32 {
	return map[string]uint32{
		"connect": unix.SYS_CONNECT,
		"shmget":  unix.SYS_SHMGET, "shmat": unix.SYS_SHMAT, "shmctl": unix.SYS_SHMCTL,
		"msgget": unix.SYS_MSGGET, "msgsnd": unix.SYS_MSGSND, "msgrcv": unix.SYS_MSGRCV, "msgctl": unix.SYS_MSGCTL,
		"semget": unix.SYS_SEMGET, "semop": unix.SYS_SEMOP, "semtimedop": unix.SYS_SEMTIMEDOP,
		"semctl": unix.SYS_SEMCTL, "process_mrelease": unix.SYS_PROCESS_MRELEASE,
		"mq_open": unix.SYS_MQ_OPEN, "mq_unlink": unix.SYS_MQ_UNLINK,
	}
}

// sharedRules refuse what the calls of all systems do to others: sockets other
// than local pairs and streams, and settings of other processes, the server's
// among them.
func sharedRules() []refusalRule {
	const kind = 0xf // the type of a socket without its flags
	var rules []refusalRule
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
	// The first argument says what the second is the number of; a user is none of
	// the things that a command may change.
	const priorityOfProcess, ioOfProcess = unix.PRIO_PROCESS, 1
	for call, which := range map[uint32]uint32{unix.SYS_SETPRIORITY: priorityOfProcess,
		unix.SYS_IOPRIO_SET: ioOfProcess} {
		rules = append(rules,
			when(call, unix.EPERM, condition{arg: 0, mask: allBits, val: which, differs: true}),
			when(call, unix.EPERM, condition{arg: 1, mask: allBits, differs: true}))
	}
	return rules
}
