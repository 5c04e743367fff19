//go:build unix

package storage

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// owned checks that a file's creator owns it, with the permissions it was created with. A root server gives files to
// the threads' users.
func owned(name string) error {
	want := os.Geteuid()
	if want == 0 {
		const user = 1<<16 + 1
		err := os.Lchown(name, user, user)
		switch {
		case err == nil:
			want = user
		case !errors.Is(err, syscall.EINVAL): // the error of a container without such users
			return fmt.Errorf("files can't be owned by the users of threads (root squash?): %w", err)
		}
	}
	info, err := os.Lstat(name)
	if err != nil {
		return err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != want {
		return fmt.Errorf("a file of user %d belongs to user %d", want, st.Uid)
	}
	if info.Mode().Perm() != 0o600 {
		return errors.New("files don't keep their permissions")
	}
	return nil
}
