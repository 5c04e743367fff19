package files

import (
	"context"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"
)

// Keeper stores the files of threads elsewhere; those in the folders are a copy.
type Keeper interface {
	// Hold updates the copy of a thread and keeps it until it is released.
	Hold(thread string) (release func(), err error)
	// Save saves the changes of the copy.
	Save(ctx context.Context, thread string) error
	// Copy copies the files of thread from to thread to, which has none yet.
	Copy(ctx context.Context, from, to string) error
	// Drop forgets the files of a thread.
	Drop(thread string) error
}

// Save stores the current files of a thread for other servers. It does nothing if they are only in their folder.
func (d Dirs) Save(ctx context.Context, thread string) error {
	if d.Keeper == nil {
		return nil
	}
	return d.Keeper.Save(ctx, thread)
}

// Identity returns attributes of a file that no program can choose, where supported: its inode number, and its change
// time.
func Identity(info fs.FileInfo) (inode uint64, changed time.Time) { return identity(info) }

// Owner returns the owner for new files below a folder, if it isn't the server's user.
func Owner(root *os.Root) (uid, gid int, other bool) {
	return owner(func() (fs.FileInfo, error) { return root.Stat(".") })
}

// Unfinished reports whether a name is that of a partially written file, to be renamed when complete.
func Unfinished(p string) bool {
	name := path.Base(p)
	return strings.HasPrefix(name, ".write-") && strings.HasSuffix(name, ".tmp") ||
		strings.HasPrefix(name, ".upload-") && strings.HasSuffix(name, ".part")
}
