package files

import (
	"cmp"
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
)

// Dirs owns the folders of all threads below one data folder, or one that servers share:
// Root/threads/{id}/user-data/{workspace,uploads,outputs}. The files of a project are stored like those of a reserved
// thread, see [Shelf]. The value holds no open files and may be copied and used by many goroutines.
type Dirs struct {
	// Root is the data folder of the server, a path of the host.
	Root string
	// Shared is the resolved folder above threads/, if it isn't Root.
	Shared string
	// Mounts are folders of the host that every thread may read.
	Mounts []Mount
	// Shelf returns the location of the files of a thread's project; nil has no projects.
	Shelf func(thread string) (Shelf, error)
	// Shelved reports whether a shelf's project still exists; nil means yes.
	Shelved func(shelf string) (bool, error)
	// Limits limits walks and searches; zero fields mean [DefaultSearchLimits].
	Limits SearchLimits
	// Quota refuses to write more than a thread may have; nil refuses nothing.
	Quota *Quota
	// Keeper stores the threads' files, of which those below Root are a copy; with nil there is no other storage.
	Keeper Keeper
}

// Mount shows the folder Dir of the host, read-only, at the virtual path Path,
// which must be [Skills] or below it unless only commands see it.
type Mount struct {
	Path, Dir string
	Commands  bool
}

// Create creates the folders of a thread, readable by this user only. Folders that exist already are kept. It returns
// ErrThread for an invalid id, and an error that matches fs.ErrNotExist for the shelf of a deleted project or
// collection: deletion removes the row before the folders, so no folder is left behind.
func (d Dirs) Create(thread string) error {
	base, err := d.Folder(thread)
	if err != nil {
		return err
	}
	for _, name := range []string{"workspace", "uploads", "outputs"} {
		if err := os.MkdirAll(filepath.Join(base, "user-data", name), 0o700); err != nil {
			return OpError("create folder of thread", thread, err)
		}
	}
	if d.Shelved == nil || !strings.HasPrefix(thread, shelfPrefix) {
		return nil
	}
	if there, err := d.Shelved(thread); there || err != nil {
		return err
	}
	return errors.Join(OpError("create folder of deleted project or collection", thread, fs.ErrNotExist), d.Remove(thread))
}

// removals limits the attempts to remove a folder during concurrent writes.
const removals = 5

// Remove deletes every file of a thread, including those that its programs made unreadable or nested beyond the limits
// of a path. A thread without folders is not an error; an invalid id is ErrThread.
func (d Dirs) Remove(thread string) error {
	base, err := d.Folder(thread)
	if err != nil {
		return err
	}
	if d.Quota != nil {
		d.Quota.Forget(thread)
	}
	if d.Keeper != nil {
		if err := d.Keeper.Drop(thread); err != nil {
			return err
		}
	}
	for range removals { // a program may be writing
		if os.RemoveAll(base) == nil {
			return nil
		}
	}
	if err := Loosen(base); err != nil {
		return OpError("remove files of thread", thread, err)
	}
	if err := os.RemoveAll(base); err != nil {
		return OpError("remove files of thread", thread, err)
	}
	return nil
}

// Open returns the files of a thread. It keeps one folder open (and one per mount once used) until Close, and takes
// microseconds: open one per request or tool call. A thread whose folders were never created gives an error that
// matches fs.ErrNotExist.
func (d Dirs) Open(thread string) (_ *Files, err error) {
	base, err := d.Folder(thread)
	if err != nil {
		return nil, err
	}
	release := func() {}
	if d.Keeper != nil {
		if release, err = d.Keeper.Hold(thread); err != nil {
			return nil, err
		}
		defer func() {
			if err != nil {
				release()
			}
		}()
	}
	root, err := os.OpenRoot(filepath.Join(base, "user-data"))
	if err != nil {
		return nil, OpError("open files of thread", thread, err)
	}
	f := &Files{user: root, host: root.Name(), limits: d.Limits.orDefault(), release: release}
	f.shelf.dirs, f.shelf.thread = d, thread
	f.spend = func(ctx context.Context, n int64) error { return d.Quota.spend(ctx, d, thread, n) }
	f.room = func(ctx context.Context) (int64, error) { return d.Quota.room(ctx, d, thread) }
	for _, m := range d.Mounts {
		if m.Commands {
			continue
		}
		if m.Path != Skills && !Under(Skills, m.Path) {
			return nil, errors.Join(fmt.Errorf("mount %s: only %s can be mounted", m.Path, Skills), root.Close())
		}
		f.mounts = append(f.mounts, &mount{Mount: m})
	}
	return f, nil
}

// Threads calls visit with the id of every thread that has folders, in no
// order, until it returns an error.
func (d Dirs) Threads(visit func(thread string) error) error { return d.each("threads", visit) }

// Shelves is Threads for projects.
func (d Dirs) Shelves(visit func(shelf string) error) error {
	return d.each(shelves, func(project string) error { return visit(shelfPrefix + project) })
}

func (d Dirs) each(folder string, visit func(name string) error) error {
	root, err := os.OpenRoot(d.Above())
	if err == nil {
		defer root.Close()
		err = eachEntry(root, folder, func(e fs.DirEntry) error {
			if e.IsDir() && validThread(e.Name()) {
				return visit(e.Name())
			}
			return nil
		})
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Probe reports whether an id belongs to a temporary thread for testing a sandbox. A crash leaves their folders behind.
func Probe(id string) bool {
	rest, ok := strings.CutPrefix(id, "probe-")
	rest = strings.TrimPrefix(rest, "other-")
	return ok && len(rest) == 12 && strings.Trim(rest, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

// Folder returns the folder of a thread or project on the host, whether or not it exists. An invalid id is ErrThread.
func (d Dirs) Folder(id string) (string, error) {
	folder := "threads"
	if project, ok := strings.CutPrefix(id, shelfPrefix); ok {
		id, folder = project, shelves
	}
	if !validThread(id) {
		return "", ErrThread
	}
	return filepath.Join(d.Above(), folder, id), nil
}

// Above returns the folder that holds threads/.
func (d Dirs) Above() string { return cmp.Or(d.Shared, d.Root) }

func validThread(id string) bool {
	if id == "" || len(id) > 64 {
		return false
	}
	for _, c := range []byte(id) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_':
		default:
			return false
		}
	}
	return true
}

// Loosen makes a tree removable: folders become accessible again, and folders nested too deeply for removal with open
// parents are moved to the top.
func Loosen(base string) error {
	const deep = 64
	root, err := os.OpenRoot(base)
	if err != nil {
		return err
	}
	defer root.Close()
	type folder struct {
		name  string
		depth int
	}
	moved := 0
	for queue := []folder{{".", 0}}; len(queue) > 0; {
		dir := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if err := root.Chmod(dir.name, 0o700); err != nil {
			return err
		}
		if dir.depth > deep {
			top := fmt.Sprintf(".deep-%d", moved)
			moved++
			if err := root.Rename(dir.name, top); err != nil {
				return err
			}
			dir = folder{top, 1}
		}
		err := eachEntry(root, dir.name, func(e fs.DirEntry) error {
			if e.IsDir() {
				queue = append(queue, folder{filepath.Join(dir.name, e.Name()), dir.depth + 1})
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// eachEntry reads a folder in batches, which limits memory for folders with millions of names. The order is that of the
// disk.
func eachEntry(root *os.Root, rel string, visit func(fs.DirEntry) error) error {
	dir, err := root.OpenFile(rel, os.O_RDONLY|dirFlags, 0)
	if err != nil {
		return err
	}
	defer dir.Close()
	for {
		entries, err := dir.ReadDir(512)
		for _, e := range entries {
			if err := visit(e); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// Keeper stores the files of threads elsewhere; those in the folders are a copy.
type Keeper interface {
	// Hold updates the copy of a thread and keeps it until it is released.
	Hold(thread string) (release func(), err error)
	// Save saves the changes of the copy.
	Save(ctx context.Context, thread string) error
	// Copy copies the files of thread from to thread to, which has none yet.
	Copy(ctx context.Context, from, to string) error
	// Drop forgets the files of a thread.
	Drop(thread string) error
}

// Save stores the current files of a thread for other servers. It does nothing if they are only in their folder.
func (d Dirs) Save(ctx context.Context, thread string) error {
	if d.Keeper == nil {
		return nil
	}
	return d.Keeper.Save(ctx, thread)
}

// Identity returns attributes of a file that no program can choose, where supported: its inode number, and its change
// time.
func Identity(info fs.FileInfo) (inode uint64, changed time.Time) { return identity(info) }

// Owner returns the owner for new files below a folder, if it isn't the server's user.
func Owner(root *os.Root) (uid, gid int, other bool) {
	return owner(func() (fs.FileInfo, error) { return root.Stat(".") })
}

// Unfinished reports whether a name is that of a partially written file, to be renamed when complete.
func Unfinished(p string) bool {
	name := path.Base(p)
	return strings.HasPrefix(name, ".write-") && strings.HasSuffix(name, ".tmp") ||
		strings.HasPrefix(name, ".upload-") && strings.HasSuffix(name, ".part")
}

// versionsFolder holds earlier versions of a thread's files. It is next to them, out of reach of commands, and deleted
// with them.
const versionsFolder = "versions"

// Versions opens the folder of earlier versions of a thread's files, which counts towards its quota. The caller closes
// it. If it doesn't exist, the error matches fs.ErrNotExist.
func (d Dirs) Versions(thread string) (*os.Root, error) {
	base, err := d.Folder(thread)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(filepath.Join(base, versionsFolder))
	if err != nil {
		return nil, OpError("open versions of thread", thread, err)
	}
	return root, nil
}

// CreateVersions creates the folder that [Dirs.Versions] opens. The thread need not have files yet.
func (d Dirs) CreateVersions(thread string) error {
	base, err := d.Folder(thread)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(base, versionsFolder), 0o700); err != nil {
		return OpError("make folder of versions", thread, err)
	}
	return nil
}
