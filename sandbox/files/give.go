package files

import (
	"errors"
	"io/fs"
	"os"
	"strings"
)

// give makes a new file belong to the user that the thread's commands run as. Those of a project are
// everybody's.
func (f *Files) give(at place, file *os.File) error {
	if at.shelf != "" {
		return openFile(file)
	}
	uid, gid, other := owner(f.folder)
	if !other {
		return nil
	}
	return file.Chown(uid, gid)
}

// mkdirAll makes a folder and those above it, all for the user that the
// thread's commands run as.
func (f *Files) mkdirAll(at place, rel string) error {
	uid, gid, other := owner(f.folder)
	if at.shelf != "" {
		return makeOpen(at.root, rel)
	}
	if !other {
		return at.root.MkdirAll(rel, 0o755)
	}
	for end := 0; end < len(rel); end++ {
		next := strings.IndexByte(rel[end:], '/')
		if end += next; next < 0 {
			end = len(rel)
		}
		err := at.root.Mkdir(rel[:end], 0o755)
		if err == nil {
			err = at.root.Lchown(rel[:end], uid, gid)
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return at.root.MkdirAll(rel, 0o755)
}

func (f *Files) folder() (fs.FileInfo, error) { return f.user.Stat(".") }
