package skills

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// clear empties the folder to show. It stays the same folder, as running sandboxes hold it.
func (l *Library) clear() error {
	if err := os.MkdirAll(l.o.Shown, 0o755); err != nil {
		return err
	}
	if err := os.Chmod(l.o.Shown, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(l.o.Shown)
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(l.o.Shown, e.Name())))
	}
	return errors.Join(err, os.RemoveAll(l.aside()))
}

// aside returns the folder for folders that aren't shown yet, or no longer.
func (l *Library) aside() string { return l.o.Shown + ".tmp" }

// show makes the folder contain exactly the enabled skills. Folders appear and disappear atomically. Skills that can't
// be copied are left out; whole is false then.
func (l *Library) show(from map[string]fs.FS) (whole bool, err error) {
	want := map[string]Skill{}
	for _, s := range l.all {
		if s.Enabled && s.Usable() {
			want[string(s.Category)+"/"+s.Folder] = s
		}
	}
	for at, mark := range l.shown {
		if want[at].mark != mark {
			if err := l.hide(at); err != nil {
				return false, fmt.Errorf("hide a skill: %w", err)
			}
		}
	}
	whole = true
	for at, s := range want {
		if l.shown[at] == s.mark {
			continue
		}
		if err := l.copy(from[s.place()], s, at); err != nil {
			l.o.Log.Warn("couldn't show a skill to agents", "skill", s.Name, "problem", reason(err))
			whole = false
		}
	}
	return whole, nil
}

// hide removes a folder, and parents that become empty.
func (l *Library) hide(at string) error {
	if err := os.MkdirAll(l.aside(), 0o700); err != nil {
		return err
	}
	temp := filepath.Join(l.aside(), rand.Text())
	if err := os.Rename(filepath.Join(l.o.Shown, at), temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	delete(l.shown, at)
	for dir := path.Dir(at); dir != "."; dir = path.Dir(dir) {
		if os.Remove(filepath.Join(l.o.Shown, dir)) != nil {
			break // the folder has other content
		}
	}
	return os.RemoveAll(temp)
}

// copy shows the plain files of a skill.
func (l *Library) copy(fsys fs.FS, s Skill, at string) error {
	if err := os.MkdirAll(l.aside(), 0o700); err != nil {
		return err
	}
	temp := filepath.Join(l.aside(), rand.Text())
	err := copyFolder(fsys, s.Folder, temp)
	if err == nil {
		l.bringTool(s, temp)
	}
	to := filepath.Join(l.o.Shown, at)
	if err == nil {
		err = l.parents(path.Dir(at))
	}
	if err == nil {
		err = os.Rename(temp, to)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(temp))
	}
	l.shown[at] = s.mark
	return nil
}

// parents creates the folders above a skill.
func (l *Library) parents(at string) error {
	if at == "." {
		return nil
	}
	if err := l.parents(path.Dir(at)); err != nil {
		return err
	}
	if err := makeFolder(filepath.Join(l.o.Shown, at)); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// makeFolder creates a folder readable by everyone regardless of the umask: commands may run as another user.
func makeFolder(at string) error {
	if err := os.Mkdir(at, 0o755); err != nil {
		return err
	}
	return os.Chmod(at, 0o755)
}

// copyFolder copies plain files, readable by everyone.
func copyFolder(fsys fs.FS, dir, to string) error {
	if err := makeFolder(to); err != nil {
		return err
	}
	files, err := list(fsys, dir)
	if err != nil {
		return err
	}
	left := int64(maxBytes)
	for _, f := range files {
		at := filepath.Join(to, filepath.FromSlash(f.name))
		switch {
		case f.info.IsDir():
			err = makeFolder(at)
		case f.info.Mode().IsRegular():
			mode := fs.FileMode(0o644)
			if f.info.Mode()&0o100 != 0 {
				mode = 0o755
			}
			var n int64
			n, err = copyFile(fsys, path.Join(dir, f.name), at, mode, left)
			left -= n
		}
		if err != nil {
			return err
		}
	}
	return nil
}

var errTooMuch = errors.New("the files are too large")

func copyFile(fsys fs.FS, name, to string, mode fs.FileMode, limit int64) (n int64, err error) {
	in, err := fsys.Open(name)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	if info, err := in.Stat(); err != nil || !info.Mode().IsRegular() {
		return 0, cmp.Or(err, fs.ErrInvalid) // another file has taken its place
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return 0, err
	}
	n, err = io.Copy(out, io.LimitReader(in, limit+1))
	if err == nil && n > limit {
		err = errTooMuch
	}
	err = cmp.Or(err, out.Chmod(mode))
	return n, cmp.Or(err, out.Close())
}
