package jail

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Groups of rights. Those unknown to the running kernel are removed.
const (
	rightsList  = unix.LANDLOCK_ACCESS_FS_READ_DIR
	rightsRead  = unix.LANDLOCK_ACCESS_FS_READ_FILE | rightsList
	rightsExec  = rightsRead | unix.LANDLOCK_ACCESS_FS_EXECUTE
	rightsWrite = rightsExec | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER
	rightsDevice = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	rightsOfFile = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

type rule struct {
	path   string
	rights uint64
}

// landlock repeats the file view as rules, in case a mount is wrong. One rule set applies to all commands of a sandbox,
// so that they may signal each other.
func (s *setup) landlock() error {
	rules := []rule{
		{"/", rightsList}, {"/proc", rightsRead | unix.LANDLOCK_ACCESS_FS_WRITE_FILE},
		{"/dev", rightsDevice | rightsList}, {"/tmp", rightsWrite}, {"/dev/shm", rightsWrite}, {"/.sbx", rightsExec},
	}
	for _, b := range s.Binds {
		r := uint64(rightsExec)
		if b.Write {
			r = rightsWrite
		}
		rules = append(rules, rule{b.Dst, r})
	}
	for name := range s.Files {
		if uncovered(name, s.Binds) {
			rules = append(rules, rule{name, rightsRead})
		}
	}
	var scope uint64
	if s.ScopeSockets {
		scope = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
	}
	err := restrict(rules, 0, scope)
	if s.ScopeSockets && (err != nil || LandlockABI() < 6) {
		s.degrade("abstract-sockets")
	}
	if err == nil {
		s.layers = append(s.layers, "landlock")
	}
	return err
}

// LandlockABI returns the version of Landlock that the kernel offers, 0 for none.
func LandlockABI() int {
	v, _, e := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if e != 0 {
		return 0
	}
	return int(v)
}

// handled returns the rights supported by a version; all of them are denied unless a rule grants them.
func handled(abi int) uint64 {
	all := uint64(unix.LANDLOCK_ACCESS_FS_MAKE_SYM<<1 - 1)
	if abi >= 2 {
		all |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if abi >= 3 {
		all |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if abi >= 5 {
		all |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	return all
}

// restrict applies to the calling thread and its descendants. Network rights and scopes are denied as far as the kernel
// supports them.
func restrict(rules []rule, network, scope uint64) error {
	abi := LandlockABI()
	if abi < 1 {
		return fmt.Errorf("landlock: %w", unix.ENOSYS)
	}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: handled(abi)}
	size := unsafe.Sizeof(attr.Handled_access_fs)
	if abi >= 4 {
		attr.Handled_access_net = network
		size = unsafe.Offsetof(attr.Handled_access_net) + unsafe.Sizeof(attr.Handled_access_net)
	}
	if abi >= 6 {
		attr.Scoped = scope
		size = unsafe.Offsetof(attr.Scoped) + unsafe.Sizeof(attr.Scoped)
	}
	set, _, e := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if e != 0 {
		return fmt.Errorf("landlock_create_ruleset: %w", e)
	}
	defer unix.Close(int(set))
	for _, r := range rules {
		if err := grant(int(set), r, attr.Handled_access_fs); err != nil {
			return fmt.Errorf("landlock rule %s: %w", r.path, err)
		}
	}
	if _, _, e := unix.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, set, 0, 0); e != 0 {
		return fmt.Errorf("landlock_restrict_self: %w", e)
	}
	return nil
}

func grant(set int, r rule, known uint64) error {
	fd, err := unix.Open(r.path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	rights := r.rights & known
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= rightsOfFile
	}
	attr := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	if _, _, e := unix.RawSyscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(set), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&attr)), 0, 0, 0); e != 0 {
		return e
	}
	return nil
}
