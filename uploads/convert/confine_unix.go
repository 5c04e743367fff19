//go:build unix

package convert

import "golang.org/x/sys/unix"

// confine keeps a process without a sandbox from taking the machine with it: processor
// time, files and, where address space is not reserved ahead, memory.
func confine() {
	for which, limit := range map[int]uint64{unix.RLIMIT_CPU: 300, unix.RLIMIT_FSIZE: maxAll, unix.RLIMIT_CORE: 0,
		unix.RLIMIT_DATA: 4 << 30} {
		var now unix.Rlimit
		if unix.Getrlimit(which, &now) == nil && now.Max > limit {
			// A limit that cannot be set leaves the time limit of the server.
			_ = unix.Setrlimit(which, &unix.Rlimit{Cur: limit, Max: limit})
		}
	}
}
