package files

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Copy copies the files of thread from to thread to, which has none yet: folders, regular files and links, the latter
// verbatim and without following them. Other files are skipped. A thread without folders is not an error; exceeding the
// quota is ErrQuota. Files copied before an error stay.
func (d Dirs) Copy(ctx context.Context, from, to string) error {
	if d.Keeper != nil {
		return d.Keeper.Copy(ctx, from, to)
	}
	source, err := d.Folder(from)
	if err != nil {
		return err
	}
	if err := d.Create(to); err != nil {
		return err
	}
	src, err := os.OpenRoot(filepath.Join(source, "user-data"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return OpError("copy files of thread", from, err)
	}
	defer src.Close()
	if err := d.copyTree(ctx, src, to); err != nil {
		return OpError("copy files of thread", from, err)
	}
	return nil
}

// CopyIn copies the files of a folder with a thread's layout to thread to, which has none yet. It copies the same kinds
// of files as Copy.
func (d Dirs) CopyIn(ctx context.Context, from *os.Root, to string) error {
	if err := d.Create(to); err != nil {
		return err
	}
	if err := d.copyTree(ctx, from, to); err != nil {
		return OpError("copy files to thread", to, err)
	}
	return nil
}

func (d Dirs) copyTree(ctx context.Context, src *os.Root, to string) error {
	target, err := d.Folder(to)
	if err != nil {
		return err
	}
	dst, err := os.OpenRoot(filepath.Join(target, "user-data"))
	if err != nil {
		return err
	}
	defer dst.Close()
	for queue := []string{"."}; len(queue) > 0; {
		dir := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		err := eachEntry(src, dir, func(e fs.DirEntry) error {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			name := filepath.Join(dir, e.Name())
			switch {
			case e.IsDir():
				queue = append(queue, name)
				if err := dst.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
					return err
				}
				return nil
			case e.Type()&fs.ModeSymlink != 0:
				link, err := src.Readlink(name)
				if err != nil {
					return err
				}
				return dst.Symlink(link, name)
			case e.Type().IsRegular():
				return d.copyFile(ctx, src, dst, name, to)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// copyFile copies one regular file. If it was replaced by something else meanwhile, it is skipped.
func (d Dirs) copyFile(ctx context.Context, src, dst *os.Root, name, to string) (err error) {
	in, err := src.OpenFile(name, os.O_RDONLY|readFlags, 0)
	if errors.Is(err, fs.ErrPermission) { // a program removed the permissions
		return nil
	}
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	if err := d.Quota.spend(ctx, d, to, info.Size()); err != nil {
		return err
	}
	out, err := dst.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm()&0o700|0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.LimitReader(in, info.Size()))
	return errors.Join(err, out.Close())
}
