package files

import (
	"context"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"
)

// Keeper has the files of threads somewhere else, of which those in the folders are a copy.
type Keeper interface {
	// Hold brings the copy of a thread up to date and has it stay until it is released.
	Hold(thread string) (release func(), err error)
	// Save takes over what has changed in the copy.
	Save(ctx context.Context, thread string) error
	// Copy gives thread to, which has no files yet, the files of thread from.
	Copy(ctx context.Context, from, to string) error
	// Drop forgets the files of a thread.
	Drop(thread string) error
}

// Save stores the files of a thread as they are now where others can get them. It does nothing where they are
// in their folder only.
func (d Dirs) Save(ctx context.Context, thread string) error {
	if d.Keeper == nil {
		return nil
	}
	return d.Keeper.Save(ctx, thread)
}

// Identity is what no program can choose about a file, where the system knows: its number on the disk, and when
// anything about it changed last.
func Identity(info fs.FileInfo) (inode uint64, changed time.Time) { return identity(info) }

// Owner says to whom new files below a folder belong, if to another user than the server's.
func Owner(root *os.Root) (uid, gid int, other bool) {
	return owner(func() (fs.FileInfo, error) { return root.Stat(".") })
}

// Unfinished tells names of files that are being written and get another name when they are complete.
func Unfinished(p string) bool {
	name := path.Base(p)
	return strings.HasPrefix(name, ".write-") && strings.HasSuffix(name, ".tmp") ||
		strings.HasPrefix(name, ".upload-") && strings.HasSuffix(name, ".part")
}
