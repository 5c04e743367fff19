package jail

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// plainSteps are the steps on a host without namespaces. Files stay in place, so rules replace mounts, and every step
// must succeed, because there is no other protection.
func plainSteps() []step {
	return []step{
		{name: "rlimits", run: (*setup).rlimits},
		{name: "privileges", run: (*setup).dropPrivileges},
		{name: "sources", run: (*setup).reach},
		{name: "landlock", run: (*setup).fence},
		{name: "seccomp", run: (*setup).seccomp},
	}
}

// reach makes the thread's folders accessible to commands running as their user.
func (s *setup) reach() error {
	for _, b := range s.Binds {
		fd, err := unix.Open(b.Src, unix.O_PATH|unix.O_CLOEXEC, 0)
		switch {
		case err == nil:
			_ = unix.Close(fd)
		case !b.Optional:
			return fmt.Errorf("open %s: %w", b.Src, err)
		case !errors.Is(err, unix.ENOENT):
			s.degrade("unreachable:" + b.Dst)
		}
	}
	return nil
}

// fence permits the binds and the needs of every program, and nothing else. It also isolates signals, TCP and abstract
// sockets from the host, as far as the kernel supports it. One rule set applies to all commands of a thread.
func (s *setup) fence() error {
	rules := []rule{{"/proc", rightsRead}, {ownPath, rightsExec}}
	for _, d := range []string{"null", "zero", "full", "random", "urandom"} {
		rules = append(rules, rule{"/dev/" + d, rightsDevice})
	}
	for _, b := range s.Binds {
		r := uint64(rightsExec)
		switch {
		case b.Write:
			r = rightsWrite
		case b.List:
			r = rightsList
		}
		if _, err := os.Lstat(b.Src); errors.Is(err, unix.EACCES) && b.Optional {
			continue // it was reported
		}
		rules = append(rules, rule{b.Src, r})
	}
	err := restrict(rules,
		unix.LANDLOCK_ACCESS_NET_BIND_TCP|unix.LANDLOCK_ACCESS_NET_CONNECT_TCP,
		unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET|unix.LANDLOCK_SCOPE_SIGNAL)
	if err != nil {
		return err
	}
	abi := LandlockABI()
	s.layers = append(s.layers, "landlock", "landlock_abi_"+strconv.Itoa(abi))
	if abi >= 6 {
		s.layers = append(s.layers, "scoped_signals")
	} else if !s.Switch {
		s.degrade("signals-to-own-user")
	}
	return nil
}
