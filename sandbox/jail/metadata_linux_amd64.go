package jail

import "golang.org/x/sys/unix"

// metadataCallsArch has the calls that newer systems do without.
func metadataCallsArch() map[uint32]metadataCall {
	return map[uint32]metadataCall{
		unix.SYS_CHMOD:     {kind: changeMode, dir: none, path: 0, args: 1, flags: none},
		unix.SYS_CHOWN:     {kind: changeOwner, dir: none, path: 0, args: 1, flags: none},
		unix.SYS_UTIME:     {kind: changeTimes, dir: none, path: 0, args: 1, flags: none, times: timesSeconds},
		unix.SYS_UTIMES:    {kind: changeTimes, dir: none, path: 0, args: 1, flags: none, times: timesMicro},
		unix.SYS_FUTIMESAT: {kind: changeTimes, path: 1, args: 2, flags: none, times: timesMicro},
		unix.SYS_LCHOWN: {kind: changeOwner, dir: none, path: 0, args: 1, flags: none,
			fixed: unix.AT_SYMLINK_NOFOLLOW},
	}
}
