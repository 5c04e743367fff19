package jail

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"

	"golang.org/x/sys/unix"
)

func devices() []string { return []string{"null", "zero", "full", "random", "urandom", "tty"} }

// openSources opens the files to be shown while names still have the server's meaning: neither a swapped name nor the
// new root can then change them.
func (s *setup) openSources() error {
	s.sources = map[string]source{}
	s.Binds = append(s.Binds, Bind{Src: s.Init, Dst: initPath})
	all := s.Binds
	for _, d := range devices() {
		all = append(all, Bind{Src: "/dev/" + d, Optional: true})
	}
	for _, b := range all {
		if _, ok := s.sources[b.Src]; ok {
			continue
		}
		fd, err := unix.Open(b.Src, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			if b.Optional {
				continue
			}
			return fmt.Errorf("open %s: %w", b.Src, err)
		}
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return fmt.Errorf("stat %s: %w", b.Src, err)
		}
		s.sources[b.Src] = source{fd, st.Mode&unix.S_IFMT == unix.S_IFDIR}
	}
	return nil
}

// private keeps every later mount from spreading to the host.
func (s *setup) private() error {
	return mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
}

// newRoot covers a folder that every system has; only this view changes.
func (s *setup) newRoot() error {
	for _, s.base = range []string{"/tmp", "/mnt", "/usr"} {
		if _, err := os.Stat(s.base); err == nil {
			break
		}
	}
	return mount("tmpfs", s.base, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755,size=16m,nr_inodes=4096")
}

func (s *setup) bind() error {
	sort.SliceStable(s.Binds, func(i, j int) bool {
		return strings.Count(s.Binds[i].Dst, "/") < strings.Count(s.Binds[j].Dst, "/")
	})
	for i, b := range s.Binds {
		src, ok := s.sources[b.Src]
		if !ok {
			continue
		}
		dst := s.base + b.Dst
		if err := s.place(b.Dst, src.dir, s.Binds[:i]); err != nil {
			return fmt.Errorf("place for %s: %w", b.Dst, err)
		}
		if err := mount(src.path(), dst, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return err
		}
		flags := uint64(unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV)
		if !b.Write {
			flags |= unix.MOUNT_ATTR_RDONLY
		}
		if err := s.setFlags(dst, flags, true); err != nil {
			return err
		}
	}
	return nil
}

// place creates the file or folder covered by a bind. Below an earlier bind it must exist: nothing is created on the
// host's disk.
func (s *setup) place(dst string, dir bool, earlier []Bind) error {
	for _, b := range earlier {
		if _, ok := s.sources[b.Src]; ok && strings.HasPrefix(dst, b.Dst+"/") {
			_, err := os.Lstat(s.base + dst)
			return err
		}
	}
	if dir {
		return os.MkdirAll(s.base+dst, 0o755)
	}
	return s.write(dst, "")
}

func (s *setup) write(name, content string) error {
	if err := os.MkdirAll(filepath.Dir(s.base+name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(s.base+name, []byte(content), 0o644)
}

func (s *setup) files() error {
	for name, target := range s.Links {
		if err := os.MkdirAll(filepath.Dir(s.base+name), 0o755); err != nil {
			return err
		}
		if err := os.Symlink(target, s.base+name); err != nil {
			return err
		}
	}
	for name, content := range s.Files {
		if err := s.write(name, content); err != nil {
			return err
		}
	}
	return nil
}

// mask hides secrets that lie below something shown.
func (s *setup) mask() error {
	for _, name := range s.Masks {
		info, err := os.Stat(s.base + name)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			continue // it is gone, or hidden with a folder above it
		}
		if err != nil {
			return err
		}
		if err := s.hide(name, info.IsDir()); err != nil {
			return err
		}
	}
	return nil
}

func (s *setup) hide(name string, dir bool) error {
	if dir {
		return mount("tmpfs", s.base+name, "tmpfs", unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC,
			"mode=0000,size=4k,nr_inodes=2")
	}
	null, ok := s.sources["/dev/null"]
	if !ok {
		return fmt.Errorf("hide %s: no /dev/null: %w", name, unix.ENOENT)
	}
	return mount(null.path(), s.base+name, "", unix.MS_BIND, "")
}

// pivot switches to the new root and detaches the old one.
func (s *setup) pivot() error {
	if err := unix.Chdir(s.base); err != nil {
		return fmt.Errorf("enter the new root: %w", err)
	}
	err := s.try("pivot_root", func() error { return unix.PivotRoot(".", ".") })
	switch {
	case errors.Is(err, unix.EINVAL) && !s.Strict:
		// The root of the host is its initial file system, which can't be unmounted. Hiding it works too: nothing
		// inside may mount or change the root.
		if err := mount(".", "/", "", unix.MS_MOVE, ""); err != nil {
			return err
		}
		if err := unix.Chroot("."); err != nil {
			return fmt.Errorf("chroot: %w", err)
		}
		s.degrade("initramfs-root")
	case err != nil:
		return fmt.Errorf("pivot_root: %w", err)
	default:
		if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
			return fmt.Errorf("detach the old root: %w", err)
		}
	}
	if err := unix.Chdir("/"); err != nil {
		return err
	}
	for _, src := range s.sources {
		if err := unix.Close(src.fd); err != nil {
			return err
		}
	}
	s.sources, s.base = nil, ""
	return s.setFlags("/", unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV, false)
}

func mount(src, dst, kind string, flags uintptr, data string) error {
	if err := unix.Mount(src, dst, kind, flags, data); err != nil {
		return fmt.Errorf("mount %s: %w", path.Clean(dst), err)
	}
	return nil
}

// setFlags adds flags to a mount and its submounts.
func (s *setup) setFlags(dst string, flags uint64, recursive bool) error {
	how := uint(0)
	if recursive {
		how = unix.AT_RECURSIVE
	}
	err := s.try("mount_setattr", func() error {
		return unix.MountSetattr(unix.AT_FDCWD, dst, how, &unix.MountAttr{Attr_set: flags})
	})
	if errors.Is(err, unix.ENOSYS) {
		err = remount(dst, flags, recursive)
	}
	if err != nil {
		return fmt.Errorf("flags of %s: %w", dst, err)
	}
	return nil
}
