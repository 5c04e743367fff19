package files

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// WriteFile sets the content of p, or appends to it if add is set. Missing folders are created. New content appears
// atomically: it is written to a temporary file and renamed, keeping the file's permissions (0644 for a new one). A
// link is followed if it stays inside. Appending modifies the file itself and isn't atomic.
func (f *Files) WriteFile(ctx context.Context, p string, data []byte, add bool) error {
	at, real, err := f.target("write", p, true)
	if err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	switch info, err := at.root.Lstat(at.rel); {
	case err == nil && !info.Mode().IsRegular():
		return notRegular(info)
	case err == nil:
		mode = info.Mode().Perm()
	case !errors.Is(err, fs.ErrNotExist):
		return OpError("write", real, err)
	}
	if isRoot(real) {
		return refuse(ErrNotRegular, "not a regular file: it is a directory")
	}
	if err := f.spendIn(ctx, at, int64(len(data))); err != nil {
		return err
	}
	if err := f.mkdirAll(at, path.Dir(at.rel)); err != nil {
		return OpError("write", real, err)
	}
	if add {
		err = f.appendTo(ctx, at, data)
	} else {
		err = f.replace(ctx, at, data, mode)
	}
	if err != nil {
		return OpError("write", real, err)
	}
	return nil
}

func (f *Files) appendTo(ctx context.Context, at place, data []byte) error {
	file, err := at.root.OpenFile(at.rel, os.O_WRONLY|os.O_APPEND|os.O_CREATE|readFlags, 0o644)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = ErrNotRegular
	}
	if err == nil {
		err = f.give(at, file)
	}
	if err == nil {
		err = writeAll(ctx, file, data)
	}
	return errors.Join(err, file.Close())
}

func (f *Files) replace(ctx context.Context, at place, data []byte, mode fs.FileMode) error {
	temp := path.Join(path.Dir(at.rel), ".write-"+rand.Text()+".tmp")
	file, err := at.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	if err = f.give(at, file); err == nil {
		err = writeAll(ctx, file, data)
	}
	if err == nil {
		// The umask may have taken bits that the old file had.
		err = file.Chmod(mode)
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = at.root.Rename(temp, at.rel)
	}
	if err != nil {
		return errors.Join(err, at.root.Remove(temp))
	}
	return nil
}

func writeAll(ctx context.Context, w io.Writer, data []byte) error {
	for len(data) > 0 {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		n, err := w.Write(data[:min(len(data), 1<<20)])
		if err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// Spend books n bytes that the caller is about to write to its own file. It returns ErrQuota without enough space.
func (f *Files) Spend(ctx context.Context, n int64) error { return f.spend(ctx, n) }

// Room returns the space that a log of the server may still use of the thread's quota. The last part of it, 5 % and at
// least 1 MiB, is reserved for the thread's own files.
func (f *Files) Room(ctx context.Context) (int64, error) { return f.room(ctx) }

// Create creates a new file for writing, which the caller closes; writes are booked with Spend. The folder must exist;
// an existing name, including a link, returns an error that matches fs.ErrExist.
func (f *Files) Create(p string) (*os.File, error) {
	at, real, err := f.target("create", p, false)
	if err != nil {
		return nil, err
	}
	if err := f.spendIn(context.Background(), at, 0); err != nil {
		return nil, err
	}
	file, err := at.root.OpenFile(at.rel, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err == nil {
		if err = f.give(at, file); err != nil {
			err = errors.Join(err, file.Close(), at.root.Remove(at.rel))
		}
	}
	if err != nil {
		return nil, OpError("create", real, err)
	}
	return file, nil
}

// Mkdir creates a folder and its parents. An existing folder is kept.
func (f *Files) Mkdir(p string) error {
	at, real, err := f.target("make folder", p, true)
	if err != nil {
		return err
	}
	if err := f.mkdirAll(at, at.rel); err != nil {
		return OpError("make folder", real, err)
	}
	return nil
}

// Rename renames old to the path to, replacing an existing file. Links themselves are renamed and replaced, never their
// targets.
func (f *Files) Rename(old, to string) error {
	src, from, err := f.target("rename", old, false)
	if err != nil {
		return err
	}
	dst, real, err := f.target("rename", to, false)
	if err != nil {
		return err
	}
	if isRoot(from) || isRoot(real) {
		return refuse(ErrPath, "workspace, uploads and outputs themselves cannot be renamed")
	}
	if src.shelf != dst.shelf {
		return refuse(ErrPath, "files are copied, not moved, from or to "+Project)
	}
	if err := src.root.Rename(src.rel, dst.rel); err != nil {
		return OpError("rename", from, err)
	}
	return nil
}

// Remove deletes one file, link or empty folder; a link itself, not its target.
func (f *Files) Remove(p string) error {
	at, real, err := f.target("remove", p, false)
	if err != nil {
		return err
	}
	if isRoot(real) {
		return refuse(ErrPath, "workspace, uploads and outputs themselves cannot be removed")
	}
	if err := at.root.Remove(at.rel); err != nil {
		return OpError("remove", real, err)
	}
	return nil
}

func isRoot(clean string) bool {
	return clean == Workspace || clean == Uploads || clean == Outputs || clean == Project
}

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
