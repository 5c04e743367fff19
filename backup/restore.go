package backup

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"fawn/store"
)

const (
	asidePrefix = "before-restore-"
	stagePrefix = ".restore-"
)

// Restored is the result of a restore.
type Restored struct {
	Manifest
	Aside    string // folder with the replaced content, "" for none
	Database bool   // only the database was restored, from a copy
}

// Restore restores a backup into a data folder that no server uses. The backup is verified completely, unpacked next to
// the existing content, and then moved into place; from then on [Finish] can resume it. A non-empty folder is
// ErrNotEmpty, unless force moves its content into a folder inside. A bare database copy, as left by migrations,
// replaces only the database.
func Restore(ctx context.Context, file, dir string, force bool) (r Restored, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return r, err
	}
	release, err := store.Hold(dir)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, release()) }()
	if _, err := finishAll(dir); err != nil {
		return r, err
	}
	there, err := contents(dir)
	if err != nil {
		return r, err
	}
	if len(there) > 0 && !force {
		return r, fmt.Errorf("restore to %s: %w", dir, ErrNotEmpty)
	}
	name := stagePrefix + time.Now().UTC().Format("20060102T150405.000")
	stage := filepath.Join(dir, name)
	if err := os.Mkdir(stage, 0o700); err != nil {
		return r, err
	}
	if err := r.prepare(ctx, file, stage); err != nil {
		return r, errors.Join(err, os.RemoveAll(stage))
	}
	next := statePlace
	if r.Database {
		there, next = databaseOf(there), stateDatabase
	} else if len(there) > 0 {
		next = stateAside
	}
	if len(there) > 0 {
		r.Aside = filepath.Join(dir, asideOf(name))
	}
	if err := os.Rename(stage, stage+next); err != nil {
		return r, errors.Join(err, os.RemoveAll(stage))
	}
	return r, finish(dir, name+next)
}

// prepare unpacks a backup and checks it.
func (r *Restored) prepare(ctx context.Context, file, stage string) (err error) {
	if r.Database, err = isDatabase(file); err != nil {
		return err
	}
	if r.Database {
		err = copyDatabase(file, filepath.Join(stage, store.FileName))
	} else {
		r.Manifest, err = unpack(ctx, file, stage)
	}
	if err != nil {
		return err
	}
	return fits(ctx, filepath.Join(stage, store.FileName), &r.Manifest)
}

// contents returns the names in a folder that a restore is about; the lock is held meanwhile.
func contents(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if n := e.Name(); n != "lock" && n != "lost+found" && !strings.HasPrefix(n, asidePrefix) &&
			!strings.HasPrefix(n, stagePrefix) {
			names = append(names, n)
		}
	}
	return names, nil
}

// databaseOf returns the names of a database and its log.
func databaseOf(names []string) (out []string) {
	for _, n := range names {
		if rest, ok := strings.CutPrefix(n, store.FileName); ok && (rest == "" || rest == "-wal" || rest == "-shm") {
			out = append(out, n)
		}
	}
	return out
}

// move renames entries from one folder to another, the database last.
func move(from, to string, names []string) error {
	for _, last := range []bool{false, true} {
		for _, n := range names {
			if (n == store.FileName) != last {
				continue
			}
			if err := os.Rename(filepath.Join(from, n), filepath.Join(to, n)); err != nil {
				return err
			}
		}
	}
	return nil
}

func isDatabase(file string) (bool, error) {
	f, err := os.Open(file)
	if err != nil {
		return false, err
	}
	defer f.Close()
	head := make([]byte, 16)
	_, err = io.ReadFull(f, head)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return string(head) == "SQLite format 3\x00", err
}

func copyDatabase(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}

// fits refuses a database that is damaged, or that this program cannot read.
func fits(ctx context.Context, file string, m *Manifest) error {
	c, err := store.OpenCopied(ctx, file)
	if err != nil {
		return invalid("its database cannot be read: %v", err)
	}
	m.Schema, m.Threads = c.Schema, c.Threads
	if err := c.Close(); err != nil {
		return err
	}
	switch {
	case c.Problem != "":
		return invalid("its database is damaged: %s", c.Problem)
	case c.Schema > store.Schema():
		return fmt.Errorf("the backup has a database with schema version %d, and this program knows only up to %d: "+
			"restore it with the program that made it, or a newer one", c.Schema, store.Schema())
	}
	return nil
}

// unpack checks the whole backup first, and then writes it below to.
func unpack(ctx context.Context, file, to string) (Manifest, error) {
	m, digest, err := read(ctx, file, nil)
	if err != nil {
		return m, err
	}
	free, err := freeSpace(to)
	if err != nil {
		return m, err
	}
	if uint64(m.Bytes) > free {
		return m, fmt.Errorf("the backup needs %d bytes, but the disk of %s has only %d left", m.Bytes, to, free)
	}
	root, err := os.OpenRoot(to)
	if err != nil {
		return m, err
	}
	u := &unpacker{root: root, left: m.Bytes}
	_, again, err := read(ctx, file, u.take)
	if err == nil && again != digest {
		err = invalid("%s changed while it was read", file)
	}
	if err == nil {
		err = u.links()
	}
	return m, errors.Join(err, root.Close())
}

// unpacker writes entries below a folder that was empty.
type unpacker struct {
	root  *os.Root
	left  int64 // bytes that may still be written
	made  string
	later []tar.Header // links: created last, so that nothing is written through one
}

// maxLinks limits the recorded links.
const maxLinks = 1 << 20

func (u *unpacker) take(h *tar.Header, body io.Reader) error {
	switch h.Typeflag {
	case tar.TypeDir:
		return u.folder(h.Name)
	case tar.TypeSymlink:
		if len(u.later) == maxLinks {
			return invalid("it has too many links")
		}
		u.later = append(u.later, tar.Header{Name: h.Name, Linkname: h.Linkname})
		return nil
	}
	if err := u.folder(path.Dir(h.Name)); err != nil {
		return err
	}
	if u.left -= h.Size; u.left < 0 {
		return invalid("it is larger than it said")
	}
	mode := fs.FileMode(0o600)
	if strings.HasPrefix(h.Name, "threads/") || strings.HasPrefix(h.Name, "skills/") {
		mode |= fs.FileMode(h.Mode) & 0o755 // keep execute bits; never set-uid or writable by others
	}
	f, err := u.root.OpenFile(h.Name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if errors.Is(err, fs.ErrExist) {
		return invalid("it is there twice")
	}
	if err != nil {
		return err
	}
	_, err = io.Copy(f, body)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = u.root.Chtimes(h.Name, h.ModTime, h.ModTime)
	}
	return err
}

// folder creates a folder and its parents.
func (u *unpacker) folder(name string) error {
	if name == u.made {
		return nil
	}
	if err := u.root.MkdirAll(name, 0o700); err != nil {
		return err
	}
	u.made = name
	return nil
}

func (u *unpacker) links() error {
	for _, h := range u.later {
		err := u.folder(path.Dir(h.Name))
		if err == nil {
			err = u.root.Symlink(h.Linkname, h.Name)
		}
		if errors.Is(err, fs.ErrExist) {
			err = invalid("%s is there twice", h.Name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
