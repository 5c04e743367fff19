package jail

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Processes beyond the commands' limit, reserved for the supervisor: a fork bomb must not prevent it from creating the
// threads it needs to end it.
const (
	spareSupervisor = 64
	spareCall       = 32
)

func (s *setup) rlimits() error {
	limits := []struct {
		what int
		max  int64
	}{
		{unix.RLIMIT_FSIZE, s.Limits.FileSize},
		{unix.RLIMIT_NOFILE, s.Limits.OpenFiles},
		{unix.RLIMIT_DATA, s.Limits.Data},
		{unix.RLIMIT_MEMLOCK, 64 << 10},
		{unix.RLIMIT_SIGPENDING, 4096},
	}
	// Where the limit counts other processes of the user too, only commands get it, each
	// with the others of that moment: it would keep the supervisor from its work.
	if s.Limits.Pids > 0 && s.Others == 0 {
		limits = append(limits, struct {
			what int
			max  int64
		}{unix.RLIMIT_NPROC, s.Limits.Pids + spareSupervisor})
	}
	for _, l := range limits {
		if l.max > 0 {
			if err := lower(l.what, uint64(l.max)); err != nil {
				return err
			}
		}
	}
	for _, what := range []int{unix.RLIMIT_CORE, unix.RLIMIT_MSGQUEUE, unix.RLIMIT_RTPRIO} {
		if err := lower(what, 0); err != nil {
			return err
		}
	}
	// Commands have lower priority than the server, and are the first to end when memory runs out.
	if err := yield(5, 800); err != nil {
		return err
	}
	s.layers = append(s.layers, "rlimits")
	return nil
}

// yield raises this process's niceness and OOM score to at least these values. A server that was itself started nicer
// can't be made less nice, which the kernel refuses.
func yield(nice, oomScore int) error {
	raw, err := unix.Getpriority(unix.PRIO_PROCESS, 0) // the kernel answers 20 less the niceness
	if err != nil {
		return fmt.Errorf("getpriority: %w", err)
	}
	if 20-raw < nice {
		if err := unix.Setpriority(unix.PRIO_PROCESS, 0, nice); err != nil {
			return fmt.Errorf("setpriority: %w", err)
		}
	}
	const score = "/proc/self/oom_score_adj"
	text, err := os.ReadFile(score)
	if err != nil {
		return err
	}
	if now, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && now >= oomScore {
		return nil
	}
	return os.WriteFile(score, []byte(strconv.Itoa(oomScore)), 0)
}

// lower lowers a limit, keeping the server's if that is lower.
func lower(what int, max uint64) error {
	var now unix.Rlimit
	if err := unix.Getrlimit(what, &now); err != nil {
		return fmt.Errorf("getrlimit %d: %w", what, err)
	}
	max = min(max, now.Max)
	if err := unix.Setrlimit(what, &unix.Rlimit{Cur: max, Max: max}); err != nil {
		return fmt.Errorf("setrlimit %d: %w", what, err)
	}
	return nil
}

// dropPrivileges switches permanently to an ordinary user. The calls affect this thread only, which is the one that
// continues.
func (s *setup) dropPrivileges() error {
	for c := uintptr(0); c <= unix.CAP_LAST_CAP+8; c++ {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && c <= unix.CAP_SETPCAP && !s.powerless() {
			return fmt.Errorf("drop capability %d: %w", c, err)
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("clear ambient capabilities: %w", err)
	}
	if s.Switch {
		if err := s.switchUser(); err != nil {
			return err
		}
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return fmt.Errorf("capset: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	s.layers = append(s.layers, "no_caps", "no_new_privs")
	return nil
}

func (s *setup) switchUser() error {
	id, groups := uintptr(UID), []uint32{}
	if s.Plain {
		id, groups = uintptr(s.User), []uint32{uint32(s.Group)}
	}
	if _, _, e := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(groups)),
		uintptr(unsafe.Pointer(unsafe.SliceData(groups))), 0); e != 0 {
		return fmt.Errorf("setgroups: %w", e)
	}
	if _, _, e := unix.RawSyscall(unix.SYS_SETRESGID, id, id, id); e != 0 {
		return fmt.Errorf("setresgid: %w", e)
	}
	if _, _, e := unix.RawSyscall(unix.SYS_SETRESUID, id, id, id); e != 0 {
		return fmt.Errorf("setresuid: %w", e)
	}
	return nil
}

// powerless reports that no capability can be gained: the bounding set has no effect for an ordinary user without new
// privileges.
func (s *setup) powerless() bool { return s.Plain && !s.Switch }

// seccomp installs the filter on this thread. Where the keeper carries out some calls, it gets
// the listener.
func (s *setup) seccomp() error {
	if len(s.Seccomp) == 0 || len(s.Seccomp)%8 != 0 {
		return fmt.Errorf("the filter has %d bytes: %w", len(s.Seccomp), unix.EINVAL)
	}
	// The kernel requires 8-byte aligned instructions, as in a fresh []uint64.
	program := make([]uint64, len(s.Seccomp)/8)
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&program[0])), len(s.Seccomp)), s.Seccomp)
	f := struct {
		n      uint16
		_      [6]byte
		filter *uint64
	}{n: uint16(len(program)), filter: &program[0]}
	flags := uintptr(0)
	if s.Metadata {
		flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
	}
	listener, _, e := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags,
		uintptr(unsafe.Pointer(&f)))
	runtime.KeepAlive(program)
	if e != 0 {
		return fmt.Errorf("seccomp: %w", e)
	}
	s.layers = append(s.layers, "seccomp")
	if s.Metadata {
		err := s.sendListener(int(listener))
		_ = unix.Close(int(listener))
		if err != nil {
			return fmt.Errorf("send listener: %w", err)
		}
		s.layers = append(s.layers, "checked_metadata")
	}
	return nil
}

// uncovered reports whether a path lies in none of the binds.
func uncovered(name string, binds []Bind) bool {
	for _, b := range binds {
		if name == b.Dst || strings.HasPrefix(name, b.Dst+"/") {
			return false
		}
	}
	return true
}
