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

// The files of a project are stored as the uploads of a reserved thread, so they are converted, searched, counted and
// stored like those. Its threads see them at [Project].
const (
	shelfPrefix = "project."
	shelves     = "projects" // the folder next to threads/
)

// Shelf is the location of a project's files.
type Shelf struct {
	ID    string // "project." and the project's id, for [Dirs.Folder]; "" for a thread without a project
	Write bool   // the thread may change the project's files
}

// shelfRoot opens a thread's shelf on first use: most calls never touch it.
type shelfRoot struct {
	dirs   Dirs
	thread string

	mu      sync.Mutex
	known   bool     // guarded by mu, as all below
	shelf   Shelf    // once it is known
	root    *os.Root // the root shown at Project
	release func()
	done    bool
}

// Shelf reports where the files are that the thread sees at [Project]; without an ID it sees none.
func (f *Files) Shelf() (Shelf, error) {
	f.shelf.mu.Lock()
	defer f.shelf.mu.Unlock()
	return f.shelf.find()
}

// find must be called with mu held.
func (s *shelfRoot) find() (Shelf, error) {
	if !s.known {
		shelf, err := s.dirs.shelfOf(s.thread)
		if err != nil {
			return Shelf{}, err
		}
		s.shelf, s.known = shelf, true
	}
	return s.shelf, nil
}

func (s *shelfRoot) locate(clean string) (place, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done {
		return place{}, os.ErrClosed
	}
	shelf, err := s.find()
	if err == nil && shelf.ID == "" {
		err = fs.ErrNotExist
	}
	if err == nil && s.root == nil {
		err = s.open(shelf.ID)
	}
	if err != nil {
		return place{}, err
	}
	return place{root: s.root, rel: path.Join(".", strings.TrimPrefix(clean[len(Project):], "/")),
		readOnly: !shelf.Write, shelf: shelf.ID}, nil
}

func (s *shelfRoot) open(id string) error {
	base, err := s.dirs.Folder(id)
	if err != nil {
		return err
	}
	if err := s.dirs.Create(id); err != nil {
		return err
	}
	release := func() {}
	if s.dirs.Keeper != nil {
		if release, err = s.dirs.Keeper.Hold(id); err != nil {
			return err
		}
	}
	if s.root, err = os.OpenRoot(filepath.Join(base, "user-data", "uploads")); err != nil {
		release()
		return err
	}
	s.release = release
	return nil
}

func (s *shelfRoot) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done = true; s.root == nil {
		return nil
	}
	s.release()
	root := s.root
	s.root = nil
	return root.Close()
}

// spendIn books n bytes that are about to be written to a place.
func (f *Files) spendIn(ctx context.Context, at place, n int64) error {
	if at.shelf == "" {
		return f.spend(ctx, n)
	}
	return f.shelf.dirs.Quota.spend(ctx, f.shelf.dirs, at.shelf, n)
}

// shelfOf returns the shelf of a thread. A shelf itself has none.
func (d Dirs) shelfOf(thread string) (Shelf, error) {
	if d.Shelf == nil || strings.HasPrefix(thread, shelfPrefix) {
		return Shelf{}, nil
	}
	return d.Shelf(thread)
}

// ShelfID returns the shelf with the files of the project that a thread is in, "" for none.
func (d Dirs) ShelfID(thread string) (string, error) {
	shelf, err := d.shelfOf(thread)
	return shelf.ID, err
}

// ProjectDir returns the folder of the host that commands of a thread see at [Project], "" for a thread that is in no
// project. It need not be there yet.
func (d Dirs) ProjectDir(thread string) (dir string, write bool, err error) {
	shelf, err := d.shelfOf(thread)
	if err != nil || shelf.ID == "" {
		return "", false, err
	}
	base, err := d.Folder(shelf.ID)
	if err == nil {
		base, err = filepath.Abs(base)
	}
	return filepath.Join(base, "user-data", "uploads"), shelf.Write, err
}

// ProjectFolder is ProjectDir, without links, for commands about to start: it is created if missing, has the current
// files, and is accessible to commands that run as other users.
func (d Dirs) ProjectFolder(thread string) (dir string, write bool, err error) {
	shelf, err := d.shelfOf(thread)
	if err != nil || shelf.ID == "" {
		return "", false, err
	}
	if err := d.Create(shelf.ID); errors.Is(err, fs.ErrNotExist) { // its project was deleted just now
		return "", false, nil
	} else if err != nil {
		return "", false, err
	}
	if d.Keeper != nil {
		release, err := d.Keeper.Hold(shelf.ID)
		if err != nil {
			return "", false, err
		}
		defer release()
	}
	base, err := d.Folder(shelf.ID)
	if err != nil {
		return "", false, err
	}
	dir = filepath.Join(base, "user-data", "uploads")
	if err := openTree(dir); err != nil {
		return "", false, OpError("open files of project", Project, err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err == nil {
		dir, err = filepath.Abs(dir)
	}
	return dir, shelf.Write, err
}

// A root server runs each thread's commands as a separate user. The folders above a shelf are closed to all of them, so
// its content can be open to all: a sandbox mounts one shelf, read-only or writable.
func asOthers() bool { return os.Geteuid() == 0 }

const (
	openFileMode   = fs.FileMode(0o666)
	openFolderMode = fs.FileMode(0o777)
	maxOpened      = 5_000 // limit of shelf entries checked before each command
)

func openFile(file *os.File) error {
	if !asOthers() {
		return nil
	}
	info, err := file.Stat()
	if err == nil {
		err = file.Chmod(info.Mode().Perm() | openFileMode)
	}
	return err
}

func makeOpen(root *os.Root, rel string) error {
	if err := root.MkdirAll(rel, 0o755); err != nil || !asOthers() {
		return err
	}
	for ; rel != "."; rel = path.Dir(rel) {
		if err := root.Chmod(rel, openFolderMode); err != nil {
			return err
		}
	}
	return nil
}

// openTree makes everything below a shelf readable and writable for all users.
func openTree(dir string) error {
	if !asOthers() {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	left := maxOpened
	for queue := []string{"."}; len(queue) > 0; {
		at := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if err := root.Chmod(at, openFolderMode); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		err := eachEntry(root, at, func(e fs.DirEntry) error {
			name := path.Join(at, e.Name())
			if left--; left < 0 {
				return fs.SkipAll
			}
			switch {
			case e.IsDir():
				queue = append(queue, name)
				return nil
			case !e.Type().IsRegular():
				return nil
			}
			info, err := e.Info()
			if err == nil && info.Mode().Perm()&openFileMode != openFileMode {
				err = root.Chmod(name, info.Mode().Perm()|openFileMode)
			}
			if errors.Is(err, fs.ErrNotExist) { // a command removed it
				return nil
			}
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if left < 0 {
			return nil
		}
	}
	return nil
}
