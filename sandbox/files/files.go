package files

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
)

// Files provides one thread's files under virtual paths, which [Clean] defines. It is safe for concurrent use. Errors
// contain only virtual paths and match the sentinels of this package or of io/fs. After Close every method fails; files
// returned by Open and Create remain usable and are closed by their owner.
type Files struct {
	user   *os.Root
	host   string // the path of user
	mounts []*mount
	shelf  shelfRoot
	limits SearchLimits
	// spend returns ErrQuota for writes beyond the thread's quota.
	spend func(ctx context.Context, n int64) error
	room  func(ctx context.Context) (int64, error)
	// release releases the thread's copy; it is idempotent.
	release func()
}

// mount opens its folder on first use: most calls never touch one.
type mount struct {
	Mount
	mu   sync.Mutex
	root *os.Root // guarded by mu
	done bool     // guarded by mu
}

func (m *mount) open() (*os.Root, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.done {
		return nil, os.ErrClosed
	}
	if m.root == nil {
		root, err := os.OpenRoot(m.Dir)
		if err != nil {
			return nil, err
		}
		m.root = root
	}
	return m.root, nil
}

func (m *mount) close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done = true
	if m.root == nil {
		return nil
	}
	return m.root.Close()
}

// Close releases the open folders. Calling it again does nothing.
func (f *Files) Close() error {
	f.release()
	err := errors.Join(f.user.Close(), f.shelf.close())
	for _, m := range f.mounts {
		err = errors.Join(err, m.close())
	}
	return err
}

// place is the location of a virtual path: a name below an open folder.
type place struct {
	root     *os.Root
	rel      string
	readOnly bool
	shelf    string // folder with a project's file
}

// locate finds the root that serves a clean path.
func (f *Files) locate(clean string) (place, error) {
	if clean == UserData {
		return place{root: f.user, rel: "."}, nil
	}
	if clean == Project || Under(Project, clean) {
		return f.shelf.locate(clean)
	}
	if Under(UserData, clean) {
		return place{root: f.user, rel: clean[len(UserData)+1:]}, nil
	}
	for _, m := range f.mounts {
		if clean != m.Path && !Under(m.Path, clean) {
			continue
		}
		root, err := m.open()
		if err != nil {
			return place{}, err
		}
		rel := "."
		if clean != m.Path {
			rel = clean[len(m.Path)+1:]
		}
		return place{root: root, rel: rel, readOnly: true}, nil
	}
	return place{}, fs.ErrNotExist
}

// resolve follows the links of a clean path like a program inside the sandbox, where links may point at absolute
// virtual paths that don't exist on the host. last selects whether a final link is followed too. Missing elements are
// taken literally. os.Root checks the result again when it is used: a link changed in between can mislead, but not
// escape.
func (f *Files) resolve(clean string, last bool) (string, error) {
	rest := names(clean)
	links := 0
	cur := "/"
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		if name == ".." {
			cur = path.Dir(cur)
			continue
		}
		cur = path.Join(cur, name)
		target, err := f.readlink(cur, last || len(rest) > 0)
		if errors.Is(err, fs.ErrNotExist) {
			if same := f.decomposed(cur); same != "" {
				cur = same
				target, err = f.readlink(cur, last || len(rest) > 0)
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return checked(path.Join(cur, path.Join(rest...)))
		}
		if err != nil {
			return "", err
		}
		if target == "" {
			continue
		}
		if links++; links > maxLinks {
			return "", refuse(ErrEscape, "too many symbolic links")
		}
		target = f.virtual(target)
		rest = append(names(target), rest...)
		if path.IsAbs(target) {
			cur = "/"
		} else {
			cur = path.Dir(cur)
		}
	}
	return checked(cur)
}

// virtual converts a host path into the thread's own files to a virtual one; commands with translated paths create such
// links.
func (f *Files) virtual(target string) string {
	if !path.IsAbs(target) || Under(UserData, target) {
		return target
	}
	host, err := filepath.Abs(f.host)
	if err != nil {
		return target
	}
	roots := []string{host}
	if real, err := filepath.EvalSymlinks(host); err == nil {
		roots = append(roots, real)
	}
	for _, root := range roots {
		if Under(filepath.ToSlash(root), path.Clean(target)) {
			target = path.Clean(target)
			return UserData + target[len(root):]
		}
	}
	return target
}

// readlink returns the target if p is a link that should be followed.
func (f *Files) readlink(p string, follow bool) (string, error) {
	if !inside(p) {
		return "", nil
	}
	at, err := f.locate(p)
	if err != nil {
		return "", err
	}
	fi, err := at.root.Lstat(at.rel)
	if err != nil {
		return "", err
	}
	if !follow || fi.Mode()&fs.ModeSymlink == 0 {
		return "", nil
	}
	target, err := at.root.Readlink(at.rel)
	return filepath.ToSlash(target), err
}

func checked(p string) (string, error) {
	if !inside(p) {
		return "", refuse(ErrEscape, "Access denied: a symbolic link leads out of the allowed folders")
	}
	return p, wellFormed(p)
}

func names(p string) []string {
	return strings.FieldsFunc(p, func(r rune) bool { return r == '/' })
}

// withPath runs do where p lives. Most paths have no links, so it tries the
// path as written first and follows links only after a failure.
func (f *Files) withPath(op, p string, do func(place) error) error {
	clean, err := Clean(p)
	if err != nil {
		return err
	}
	at, err := f.locate(clean)
	if err == nil {
		err = do(at)
	}
	if err == nil || errors.Is(err, ErrNotRegular) || errors.Is(err, ErrNotDir) {
		return err
	}
	real, rerr := f.resolve(clean, true)
	if rerr != nil {
		if errors.As(rerr, new(*refusal)) {
			return rerr
		}
		return OpError(op, clean, rerr)
	}
	if real != clean {
		if at, err = f.locate(real); err == nil {
			err = do(at)
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		if text := f.converted(real); text != "" {
			if at, err = f.locate(text); err == nil {
				err = do(at)
			}
		}
	}
	if err != nil {
		return OpError(op, clean, err)
	}
	return nil
}

// target finds where a change at p happens: links followed, read-only refused.
func (f *Files) target(op, p string, last bool) (place, string, error) {
	clean, err := Clean(p)
	if err != nil {
		return place{}, "", err
	}
	if Under(Skills, clean) || clean == Skills {
		return place{}, "", refuse(ErrReadOnly, Skills+" is read-only")
	}
	real, err := f.resolve(clean, last)
	if err != nil {
		if errors.As(err, new(*refusal)) {
			return place{}, "", err
		}
		return place{}, "", OpError(op, clean, err)
	}
	at, err := f.locate(real)
	switch {
	case at.shelf != "" && at.readOnly:
		return place{}, "", refuse(ErrReadOnly, Project+" is read-only: write to "+Workspace+" or "+Outputs+" instead")
	case at.readOnly || Under(Skills, real):
		return place{}, "", refuse(ErrReadOnly, Skills+" is read-only")
	}
	if err != nil {
		return place{}, "", OpError(op, clean, err)
	}
	return at, real, nil
}
