package filestore

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"fawn/sandbox/files"
)

const (
	// maxFiles limits the names of a thread.
	maxFiles = 1 << 20
	// coarse is the timestamp resolution of some file systems.
	coarse = int64(50 * time.Millisecond)
)

// found is a name as it lies in the folder now.
type found struct {
	kind byte
	mode uint32
	stat stat
}

// look is the observed content of a folder.
type look struct {
	at     int64
	files  map[string]found
	closed []string // folders that could not be read
}

// scan lists all names below a thread's folders. Pipes, sockets, devices and partially written files are skipped.
func scan(ctx context.Context, user *os.Root) (look, error) {
	l := look{at: time.Now().UnixNano(), files: map[string]found{}}
	visit := func(name string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			l.closed = append(l.closed, name+"/")
			return fs.SkipDir
		}
		info, err := d.Info()
		if err != nil { // removed meanwhile
			return nil
		}
		kind, ok := kindOf(info.Mode())
		if !ok || !proper(name) || files.Unfinished(name) {
			return nil
		}
		if len(l.files) == maxFiles {
			return fmt.Errorf("there are more than %d files", maxFiles)
		}
		inode, changed := files.Identity(info)
		f := found{kind: kind, mode: uint32(info.Mode().Perm()), stat: stat{Inode: inode, Changed: changed.UnixNano()}}
		switch kind {
		case kindFile:
			f.stat.Size, f.stat.Modified = info.Size(), info.ModTime().UnixNano()
		case kindDir: // changes with its content
			f.stat = stat{Inode: inode}
		case kindLink:
			f.mode, f.stat.Modified = 0, info.ModTime().UnixNano()
		}
		l.files[name] = f
		return nil
	}
	for _, top := range tops {
		if err := fs.WalkDir(user.FS(), top, visit); err != nil {
			return l, err
		}
	}
	return l, nil
}

// unreadable reports whether a name couldn't be read and therefore may be unchanged.
func (l look) unreadable(name string) bool {
	for _, dir := range l.closed {
		if strings.HasPrefix(name, dir) {
			return true
		}
	}
	return false
}

// unchanged reports whether f is still as in the index.
func (i *index) unchanged(name string, f found) bool {
	k, ok := i.Files[name]
	if !ok || k.Entry.Kind != f.kind || k.Entry.Mode != f.mode {
		return false
	}
	return f.kind == kindDir || k.Stat == f.stat && (f.kind == kindLink || k.Stat.Changed < i.At-coarse)
}

// clean is unchanged, but rereads a file that was written when the index was taken.
func (i *index) clean(user *os.Root, name string, f found) bool {
	if i.unchanged(name, f) {
		return true
	}
	k := i.Files[name]
	if f.kind != kindFile || k.Entry.Kind != kindFile || k.Stat != f.stat || k.Entry.Mode != f.mode {
		return false
	}
	file, err := user.OpenFile(name, os.O_RDONLY|readFlags, 0)
	if err != nil {
		return false
	}
	defer file.Close()
	h := sha256.New()
	_, err = io.Copy(h, io.LimitReader(file, f.stat.Size+1))
	return err == nil && [sha256.Size]byte(h.Sum(nil)) == k.Entry.Hash
}
