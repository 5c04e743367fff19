package files

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
)

// Open opens a regular file for reading; the caller closes it. Folders, pipes, sockets and devices return ErrNotRegular
// at once, without waiting for a writer. The FileInfo has the apparent size: a sparse file may claim terabytes.
func (f *Files) Open(p string) (*os.File, fs.FileInfo, error) {
	var (
		file *os.File
		info fs.FileInfo
	)
	err := f.withPath("open", p, func(at place) (err error) {
		file, info, err = openRegular(at.root, at.rel)
		return err
	})
	return file, info, err
}

func openRegular(root *os.Root, rel string) (*os.File, fs.FileInfo, error) {
	file, err := root.OpenFile(rel, os.O_RDONLY|readFlags, 0)
	if err != nil {
		// Sockets can't be opened; report their type.
		if info, serr := root.Stat(rel); serr == nil && !info.Mode().IsRegular() && !info.IsDir() {
			return nil, nil, notRegular(info)
		}
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = notRegular(info)
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, info, nil
}

func notRegular(info fs.FileInfo) error {
	if info.IsDir() {
		return refuse(ErrNotRegular, "not a regular file: it is a directory")
	}
	return ErrNotRegular
}

// ReadFile returns the content of a regular file. For a larger one it returns the first limit bytes with ErrTooLarge.
// It stops with the context's error between blocks of 256 KiB.
func (f *Files) ReadFile(ctx context.Context, p string, limit int64) ([]byte, error) {
	file, info, err := f.Open(p)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var buf bytes.Buffer
	buf.Grow(int(min(max(info.Size(), 0), limit, 1<<20)) + bytes.MinRead)
	for int64(buf.Len()) <= limit {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		n, err := io.CopyN(&buf, file, min(256<<10, limit+1-int64(buf.Len())))
		if errors.Is(err, io.EOF) {
			return buf.Bytes(), nil
		}
		if err != nil {
			return nil, OpError("read", p, err)
		}
		if n == 0 {
			break
		}
	}
	return buf.Bytes()[:limit], ErrTooLarge
}

// Stat describes the file at p, following links inside the allowed folders.
func (f *Files) Stat(p string) (fs.FileInfo, error) {
	var info fs.FileInfo
	err := f.withPath("stat", p, func(at place) (err error) {
		info, err = at.root.Stat(at.rel)
		return err
	})
	return info, err
}

// Lstat describes p itself, also when it is a link.
func (f *Files) Lstat(p string) (fs.FileInfo, error) {
	clean, err := Clean(p)
	if err != nil {
		return nil, err
	}
	real, err := f.resolve(clean, false)
	if errors.As(err, new(*refusal)) {
		return nil, err
	}
	var at place
	if err == nil {
		at, err = f.locate(real)
	}
	var info fs.FileInfo
	if err == nil {
		info, err = at.root.Lstat(at.rel)
	}
	if err != nil {
		return nil, OpError("stat", clean, err)
	}
	return info, nil
}

// ReadDir lists a folder, with links themselves rather than their targets, in no order. more means that the entry limit
// ended the list.
func (f *Files) ReadDir(p string) (all []fs.FileInfo, more bool, err error) {
	err = f.withPath("list", p, func(at place) error {
		all = nil
		return eachEntry(at.root, at.rel, func(e fs.DirEntry) error {
			if len(all) >= f.limits.Entries {
				return fs.SkipAll
			}
			info, err := at.root.Lstat(path.Join(at.rel, e.Name()))
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			all = append(all, info)
			return err
		})
	})
	if errors.Is(err, fs.SkipAll) {
		return all, true, nil
	}
	return all, false, err
}
