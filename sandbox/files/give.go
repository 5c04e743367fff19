package files

import (
	"errors"
	"io/fs"
	"os"
	"strings"
)

// give changes the owner of a new file to the user of the thread's commands. Files of projects belong to everyone.
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

// mkdirAll creates a folder and its parents, owned by the user of the thread's commands.
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
