package jail

import (
	"encoding/binary"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// metadataFD is the number, in setup, of the socket to the keeper that takes the listener of
// the filter.
const metadataFD = 4

const (
	maxAttribute = 64 << 10 // bytes of an extended attribute, as the kernel has it
	maxFolders   = 64 << 10 // bytes of the list of folders
)

// Kinds of metadata.
const (
	changeMode = iota
	changeOwner
	changeTimes
	setAttribute
	removeAttribute
)

// Forms in which times are given.
const (
	timesExact   = iota // seconds and nanoseconds
	timesMicro          // seconds and microseconds
	timesSeconds        // two numbers
)

// none stands for an argument that a call does not have.
const none = -1

// metadataCall describes the arguments of a system call.
type metadataCall struct {
	kind            int
	dir, path, args int // the descriptor, the path, and the first argument of the change
	flags           int
	fixed           uint64 // flags of a call that has no argument for them
	times           int
}

// metadataCalls change modes, owners, times and extended attributes. Landlock has no rights
// for them.
func metadataCalls() map[uint32]metadataCall {
	all := map[uint32]metadataCall{
		unix.SYS_FCHMOD:       {kind: changeMode, path: none, args: 1, flags: none},
		unix.SYS_FCHMODAT:     {kind: changeMode, path: 1, args: 2, flags: none},
		unix.SYS_FCHMODAT2:    {kind: changeMode, path: 1, args: 2, flags: 3},
		unix.SYS_FCHOWN:       {kind: changeOwner, path: none, args: 1, flags: none},
		unix.SYS_FCHOWNAT:     {kind: changeOwner, path: 1, args: 2, flags: 4},
		unix.SYS_UTIMENSAT:    {kind: changeTimes, path: 1, args: 2, flags: 3},
		unix.SYS_SETXATTR:     {kind: setAttribute, dir: none, path: 0, args: 1, flags: none},
		unix.SYS_FSETXATTR:    {kind: setAttribute, path: none, args: 1, flags: none},
		unix.SYS_REMOVEXATTR:  {kind: removeAttribute, dir: none, path: 0, args: 1, flags: none},
		unix.SYS_FREMOVEXATTR: {kind: removeAttribute, path: none, args: 1, flags: none},
		unix.SYS_LSETXATTR: {kind: setAttribute, dir: none, path: 0, args: 1, flags: none,
			fixed: unix.AT_SYMLINK_NOFOLLOW},
		unix.SYS_LREMOVEXATTR: {kind: removeAttribute, dir: none, path: 0, args: 1, flags: none,
			fixed: unix.AT_SYMLINK_NOFOLLOW},
	}
	for number, c := range metadataCallsArch() {
		all[number] = c
	}
	return all
}

// MetadataCalls returns the numbers of the system calls that the keeper carries out for commands, in order.
func MetadataCalls() (numbers []uint32) {
	for number := range metadataCalls() {
		numbers = append(numbers, number)
	}
	slices.Sort(numbers)
	return numbers
}

// metadata performs metadata changes for commands that run as the server's user, which owns more than their folders. It
// opens the target of a path, checks its location, and changes the opened file.
type metadata struct {
	folders []string
	calls   map[uint32]metadataCall
}

// sendListener hands the listener of a filter to the keeper, with the folders that commands may
// write to.
func (s *setup) sendListener(fd int) error {
	var folders []string
	for _, b := range s.Binds {
		if b.Write {
			folders = append(folders, b.Src)
		}
	}
	return unix.Sendmsg(metadataFD, []byte(strings.Join(folders, "\x00")), unix.UnixRights(fd), nil, 0)
}

// serveMetadata receives the listener from setup, if it sends one, and answers until all callers are gone. Without it
// the kernel denies the calls.
func serveMetadata(socket int) {
	buf, rights := make([]byte, maxFolders), make([]byte, unix.CmsgSpace(4))
	n, nr, _, _, err := unix.Recvmsg(socket, buf, rights, unix.MSG_CMSG_CLOEXEC)
	_ = unix.Close(socket)
	if err != nil || n == 0 || nr == 0 {
		return
	}
	messages, err := unix.ParseSocketControlMessage(rights[:nr])
	if err != nil || len(messages) != 1 {
		return
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return
	}
	m := metadata{calls: metadataCalls()}
	for _, folder := range strings.Split(string(buf[:n]), "\x00") {
		// The kernel reports real paths.
		if fd, err := unix.Open(folder, unix.O_PATH|unix.O_CLOEXEC, 0); err == nil {
			if name, err := os.Readlink(descriptor(fd)); err == nil {
				m.folders = append(m.folders, name)
			}
			_ = unix.Close(fd)
		}
	}
	// Inside a container's own /proc, the numbers differ.
	if self, err := os.Readlink("/proc/self"); err != nil || self != strconv.Itoa(os.Getpid()) {
		m.folders = nil
	}
	m.serve(fds[0])
}

func descriptor(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// question is a system call that waits for its answer, as the kernel lays it out.
type question struct {
	id     uint64
	thread uint32
	_      uint32
	number uint32
	_      uint32
	_      uint64
	args   [6]uint64
}

// verdict is the answer.
type verdict struct {
	id    uint64
	value int64
	errno int32
	_     uint32
}

func (m *metadata) serve(listener int) {
	for {
		q := new(question)
		_, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_RECV,
			uintptr(unsafe.Pointer(q)))
		if e == unix.EINTR || e == unix.ENOENT { // the caller is gone
			continue
		}
		if e != 0 {
			_ = unix.Close(listener)
			return
		}
		v := &verdict{id: q.id}
		if err := m.answer(listener, q); err != nil {
			var errno unix.Errno
			if !errors.As(err, &errno) || errno == 0 {
				errno = unix.EPERM
			}
			v.errno = -int32(errno)
		}
		// It fails if the caller is gone.
		_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_SEND,
			uintptr(unsafe.Pointer(v)))
	}
}

// answer performs a call or returns its error.
func (m *metadata) answer(listener int, q *question) error {
	c, ok := m.calls[q.number]
	if !ok {
		return unix.EPERM
	}
	proc := "/proc/" + strconv.Itoa(int(q.thread))
	mem, err := unix.Open(proc+"/mem", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return unix.EPERM
	}
	defer unix.Close(mem)
	fd, err := target(c, q, proc, mem)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	// Only now is it sure that all of this was the thread's, and not that of one which got its
	// number after its end.
	if _, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_ID_VALID,
		uintptr(unsafe.Pointer(&q.id))); e != 0 {
		return e
	}
	name, err := os.Readlink(descriptor(fd))
	if err != nil || !m.within(name) {
		return unix.EPERM
	}
	return change(c, q, mem, fd)
}

// within reports whether a file is in a folder that commands may write to.
func (m *metadata) within(name string) bool {
	return slices.ContainsFunc(m.folders, func(folder string) bool {
		return name == folder || strings.HasPrefix(name, folder+"/")
	})
}

// target opens the file of a call, without read or write access.
func target(c metadataCall, q *question, proc string, mem int) (int, error) {
	flags := c.fixed
	if c.flags != none {
		flags = uint64(uint32(q.args[c.flags]))
	}
	if flags&^(unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH) != 0 {
		return -1, unix.EINVAL
	}
	dir := unix.AT_FDCWD
	if c.dir != none {
		dir = int(int32(q.args[c.dir]))
	}
	path := ""
	switch {
	case c.path == none || c.kind == changeTimes && c.dir != none && q.args[c.path] == 0:
		if dir < 0 {
			return -1, unix.EBADF
		}
	default:
		var err error
		if path, err = text(mem, q.args[c.path], unix.PathMax); err != nil {
			return -1, err
		}
		if path == "" && flags&unix.AT_EMPTY_PATH == 0 {
			return -1, unix.ENOENT
		}
	}
	at := proc + "/cwd"
	if dir >= 0 {
		at = proc + "/fd/" + strconv.Itoa(dir)
	} else if dir != unix.AT_FDCWD && !strings.HasPrefix(path, "/") {
		return -1, unix.EBADF
	}
	if own, ok := ownDescriptor(path); ok && flags&unix.AT_SYMLINK_NOFOLLOW == 0 {
		at, path = proc+"/fd/"+own, ""
	}
	if strings.HasPrefix(path, "/") {
		at = "/"
	}
	base, err := unix.Open(at, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		err = unix.EBADF
	}
	if err != nil || path == "" {
		return base, err
	}
	defer unix.Close(base)
	how := &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_MAGICLINKS}
	if flags&unix.AT_SYMLINK_NOFOLLOW != 0 {
		how.Flags |= unix.O_NOFOLLOW
	}
	fd, err := unix.Openat2(base, path, how)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		// A filter around the server refuses the newer call. Links in /proc are followed then, and where they
		// lead is judged as well.
		fd, err = unix.Openat(base, path, int(how.Flags), 0)
	}
	return fd, err
}

// ownDescriptor returns the number in a path by which libraries name an open file.
func ownDescriptor(path string) (string, bool) {
	for _, dir := range []string{"/proc/self/fd/", "/dev/fd/"} {
		if number, ok := strings.CutPrefix(path, dir); ok {
			_, err := strconv.ParseUint(number, 10, 31)
			return number, err == nil
		}
	}
	return "", false
}

// change makes the change requested by a call.
func change(c metadataCall, q *question, mem, fd int) error {
	name, args := descriptor(fd), q.args[c.args:]
	switch c.kind {
	case changeMode:
		return unix.Chmod(name, uint32(args[0])&0o7777)
	case changeOwner:
		return unix.Fchownat(fd, "", int(int32(args[0])), int(int32(args[1])), unix.AT_EMPTY_PATH)
	case changeTimes:
		times, err := readTimes(mem, args[0], c.times)
		if err != nil {
			return err
		}
		return unix.UtimesNanoAt(unix.AT_FDCWD, name, times, 0)
	}
	attribute, err := text(mem, args[0], 256)
	if err != nil {
		return err
	}
	if c.kind == removeAttribute {
		return unix.Removexattr(name, attribute)
	}
	if args[2] > maxAttribute {
		return unix.E2BIG
	}
	value, err := bytesAt(mem, args[1], int(args[2]))
	if err != nil {
		return err
	}
	return unix.Setxattr(name, attribute, value, int(int32(args[3])))
}

// readTimes reads when a file was used and changed; nil is now.
func readTimes(mem int, at uint64, form int) ([]unix.Timespec, error) {
	if at == 0 {
		return nil, nil
	}
	numbers := 4
	if form == timesSeconds {
		numbers = 2
	}
	b, err := bytesAt(mem, at, 8*numbers)
	if err != nil {
		return nil, err
	}
	n := make([]int64, numbers)
	for i := range n {
		n[i] = int64(binary.NativeEndian.Uint64(b[8*i:]))
	}
	switch form {
	case timesSeconds:
		return []unix.Timespec{{Sec: n[0]}, {Sec: n[1]}}, nil
	case timesMicro:
		if n[1] < 0 || n[1] >= 1e6 || n[3] < 0 || n[3] >= 1e6 {
			return nil, unix.EINVAL
		}
		n[1], n[3] = 1000*n[1], 1000*n[3]
	}
	return []unix.Timespec{{Sec: n[0], Nsec: n[1]}, {Sec: n[2], Nsec: n[3]}}, nil
}

// text reads a string of at most limit bytes, with the zero at its end.
func text(mem int, at uint64, limit int) (string, error) {
	const page = 4096
	var b []byte
	for len(b) < limit {
		// The page after its end may be unmapped.
		part := make([]byte, min(page-int(at%page), limit-len(b)))
		n, err := unix.Pread(mem, part, int64(at))
		if err != nil || n == 0 {
			return "", unix.EFAULT
		}
		if end := slices.Index(part[:n], 0); end >= 0 {
			return string(append(b, part[:end]...)), nil
		}
		b, at = append(b, part[:n]...), at+uint64(n)
	}
	if limit == unix.PathMax {
		return "", unix.ENAMETOOLONG
	}
	return "", unix.ERANGE
}

// bytesAt reads a number of bytes.
func bytesAt(mem int, at uint64, size int) ([]byte, error) {
	b := make([]byte, size)
	for done := 0; done < size; {
		n, err := unix.Pread(mem, b[done:], int64(at)+int64(done))
		if err != nil || n == 0 {
			return nil, unix.EFAULT
		}
		done += n
	}
	return b, nil
}
