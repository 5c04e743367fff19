package jail

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// proc mounts a /proc with the sandbox's processes only. If the host hides parts of its own /proc, as containers do,
// the kernel denies a new one; the host's is then shown, and process ids stay separate anyway.
func (s *setup) proc() error {
	const flags = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	at := s.base + "/proc"
	if err := os.MkdirAll(at, 0o555); err != nil {
		return err
	}
	err := s.try("mount_proc", func() error { return mount("proc", at, "proc", flags, "") })
	if err != nil {
		if s.Strict || !errors.Is(err, unix.EPERM) {
			return err
		}
		if mount("/proc", at, "", unix.MS_BIND|unix.MS_REC, "") != nil {
			return err
		}
		s.degrade("outer-proc")
	}
	// A limit of this user namespace: none can be made below it.
	if os.WriteFile(at+"/sys/user/max_user_namespaces", []byte("0"), 0) == nil {
		s.layers = append(s.layers, "no_userns")
	}
	// So are these: memory that outlives processes and is in no file.
	if s.Limits.Shm > 0 {
		pages := strconv.FormatInt(s.Limits.Shm/int64(os.Getpagesize()), 10)
		for name, value := range map[string]string{"shmall": pages, "msgmni": "32"} {
			// Kernels before 5.19 refuse; the guard counts segments anyway.
			_ = os.WriteFile(at+"/sys/kernel/"+name, []byte(value), 0)
		}
	}
	for _, name := range []string{"sys", "irq", "bus", "fs", "sysrq-trigger"} {
		name = at + "/" + name
		if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := mount(name, name, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return err
		}
		if err := s.setFlags(name, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|
			unix.MOUNT_ATTR_NOEXEC, true); err != nil {
			return err
		}
	}
	for _, name := range []string{"kcore", "keys", "timer_list", "kmsg", "kallsyms", "modules", "sched_debug"} {
		info, err := os.Stat(at + "/" + name)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if err := s.hide("/proc/"+name, false); err != nil {
			return err
		}
	}
	return nil
}

// dev has the harmless devices only.
func (s *setup) dev() error {
	at := s.base + "/dev"
	if err := s.tmpfs("/dev", 0o755, "mode=0755,size=64k,nr_inodes=64", unix.MS_NOEXEC); err != nil {
		return err
	}
	for _, d := range devices() {
		src, ok := s.sources["/dev/"+d]
		if !ok {
			continue
		}
		if err := s.write("/dev/"+d, ""); err != nil {
			return err
		}
		if err := mount(src.path(), at+"/"+d, "", unix.MS_BIND, ""); err != nil {
			return err
		}
		if err := s.setFlags(at+"/"+d, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC, false); err != nil {
			return err
		}
	}
	for name, target := range map[string]string{
		"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2",
		"ptmx": "pts/ptmx",
	} {
		if err := os.Symlink(target, at+"/"+name); err != nil {
			return err
		}
	}
	if err := os.Mkdir(at+"/pts", 0o755); err != nil {
		return err
	}
	if err := mount("devpts", at+"/pts", "devpts", unix.MS_NOSUID|unix.MS_NOEXEC,
		"newinstance,ptmxmode=0666,mode=0600"); err != nil {
		return err
	}
	if err := s.tmpfs("/dev/shm", 0o1777, "mode=1777,nr_inodes=65536"+size(s.Limits.Shm), unix.MS_NODEV); err != nil {
		return err
	}
	return s.setFlags(at, unix.MOUNT_ATTR_RDONLY, false)
}

// scratch creates the writable temporary folders, which vanish with the sandbox.
func (s *setup) scratch() error {
	if err := s.tmpfs("/tmp", 0o1777, "mode=1777,nr_inodes=65536"+size(s.Limits.Tmp), unix.MS_NODEV); err != nil {
		return err
	}
	for _, dir := range []string{"/var", "/run"} {
		if err := os.MkdirAll(s.base+dir, 0o755); err != nil {
			return err
		}
	}
	return os.Symlink("/tmp", s.base+"/var/tmp")
}

func (s *setup) tmpfs(name string, mode os.FileMode, options string, flags uintptr) error {
	if err := os.MkdirAll(s.base+name, mode.Perm()); err != nil {
		return err
	}
	return mount("tmpfs", s.base+name, "tmpfs", unix.MS_NOSUID|flags, options)
}

func size(n int64) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(",size=%d", n)
}

func (s *setup) hostname() error {
	return unix.Sethostname([]byte("sandbox"))
}

// loopback brings up the loopback interface of the new network.
func (s *setup) loopback() error {
	if !s.Loopback {
		return nil
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo); err != nil {
		return err
	}
	s.layers = append(s.layers, "netns")
	return nil
}

// listener is created in the sandbox's network and served by the server: the only way out, and it identifies the
// sandbox.
func (s *setup) listener() error {
	if !s.Listen {
		return nil
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Bind(fd, &unix.SockaddrInet4{Port: ProxyPort, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return err
	}
	if err := unix.Listen(fd, 128); err != nil {
		return err
	}
	if err := send(&Message{Op: OpListen}, fd); err != nil {
		return err
	}
	s.layers = append(s.layers, "proxy")
	return nil
}
