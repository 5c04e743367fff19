package jail

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// remount replaces mount_setattr on kernels before 5.12: one mount at a time, keeping its flags, since removing one is
// denied.
func remount(dst string, flags uint64, recursive bool) error {
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	found := false
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) < 6 {
			continue
		}
		at := unescape(f[4])
		if at != dst && (!recursive || !strings.HasPrefix(at, strings.TrimSuffix(dst, "/")+"/")) {
			continue
		}
		found = true
		keep := mountFlags(strings.Split(f[5], ",")) | attrFlags(flags)
		if err := unix.Mount("", at, "", unix.MS_REMOUNT|unix.MS_BIND|keep, ""); err != nil {
			return fmt.Errorf("remount %s: %w", at, err)
		}
	}
	if !found {
		return fmt.Errorf("%s is not a mount point: %w", dst, unix.EINVAL)
	}
	return nil
}

func mountFlags(options []string) (flags uintptr) {
	for _, o := range options {
		switch o {
		case "ro":
			flags |= unix.MS_RDONLY
		case "nosuid":
			flags |= unix.MS_NOSUID
		case "nodev":
			flags |= unix.MS_NODEV
		case "noexec":
			flags |= unix.MS_NOEXEC
		case "noatime":
			flags |= unix.MS_NOATIME
		case "nodiratime":
			flags |= unix.MS_NODIRATIME
		case "relatime":
			flags |= unix.MS_RELATIME
		}
	}
	return flags
}

func attrFlags(attr uint64) (flags uintptr) {
	for bit, flag := range map[uint64]uintptr{
		unix.MOUNT_ATTR_RDONLY: unix.MS_RDONLY, unix.MOUNT_ATTR_NOSUID: unix.MS_NOSUID,
		unix.MOUNT_ATTR_NODEV: unix.MS_NODEV, unix.MOUNT_ATTR_NOEXEC: unix.MS_NOEXEC,
	} {
		if attr&bit != 0 {
			flags |= flag
		}
	}
	return flags
}

// unescape reads a path of mountinfo, where blanks and the like are octal.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
