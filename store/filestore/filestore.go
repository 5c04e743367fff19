package filestore

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"fawn/sandbox/files"
	"fawn/store"
)

const (
	holdTime = 10 * time.Minute // time limit of updating a copy
	dropTime = time.Minute      // time limit of forgetting a thread
)

// ErrObjects wraps failures of the object store.
var ErrObjects = errors.New("the object store for files is failing")

// Objects is the store that has the contents.
type Objects interface {
	Put(ctx context.Context, name string, r io.ReadSeeker, size int64, sum [sha256.Size]byte) error
	Get(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error)
	Remove(ctx context.Context, name string) error
}

// Config configures Trees.
type Config struct {
	DB      *store.DB
	Objects Objects
	Dirs    files.Dirs // the folders with the copies
	Cache   int64      // approximate limit of the copies' size in bytes; 0 is none
	Log     *slog.Logger
}

// Trees manages the versions of all threads. It is safe for concurrent use.
type Trees struct {
	cfg Config

	mu     sync.Mutex
	copies map[string]*local // guarded by mu; used now or recently
}

// local is the copy of a thread.
type local struct {
	thread string
	held   int       // guarded by Trees.mu: number of users
	run    string    // guarded by Trees.mu: active run on this server
	used   time.Time // guarded by Trees.mu

	mu      sync.Mutex // one goroutine at a time updates or saves it
	version int64      // guarded by mu: version of the copy, if known
	known   bool       // guarded by mu
	drop    bool       // guarded by mu: unsaved changes belong to a reverted run
}

// New returns Trees without reading anything.
func New(cfg Config) *Trees {
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	cfg.Dirs.Keeper = nil
	return &Trees{cfg: cfg, copies: map[string]*local{}}
}

// Close closes the object store.
func (t *Trees) Close() {
	if c, ok := t.cfg.Objects.(interface{ Close() }); ok {
		c.Close()
	}
}

// take returns the copy of a thread, which is not removed until it is released.
func (t *Trees) take(thread string) *local {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.copies[thread]
	if c == nil {
		c = &local{thread: thread}
		t.copies[thread] = c
	}
	c.held++
	c.used = time.Now()
	return c
}

func (t *Trees) giveBack(c *local) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c.held--
	c.used = time.Now()
}

// alone reports whether the caller holds the only reference to a copy; files outside the version are then leftovers.
func (t *Trees) alone(c *local) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return c.held == 1 && c.run == ""
}

// Hold implements [files.Keeper].
func (t *Trees) Hold(thread string) (release func(), err error) {
	c := t.take(thread)
	ctx, cancel := context.WithTimeout(context.Background(), holdTime)
	defer cancel()
	if err := t.refresh(ctx, c); err != nil {
		t.giveBack(c)
		return nil, err
	}
	return sync.OnceFunc(func() { t.giveBack(c) }), nil
}

// Begin updates a thread's copy before a run's tool uses it. A run's first use drops leftovers from others. The copy
// belongs to the run until [Trees.End].
func (t *Trees) Begin(ctx context.Context, thread, run string) error {
	c := t.take(thread)
	defer t.giveBack(c)
	t.mu.Lock()
	if c.run != run {
		c.run = ""
	}
	t.mu.Unlock()
	if err := t.refresh(ctx, c); err != nil {
		return err
	}
	t.mu.Lock()
	c.run = run
	t.mu.Unlock()
	return nil
}

// End ends a run's use of a thread.
func (t *Trees) End(thread, run string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.copies[thread]; c != nil && c.run == run {
		c.run, c.used = "", time.Now()
	}
}

// Version returns the newest version of a thread's files, 0 when it has none.
func (t *Trees) Version(ctx context.Context, thread string) (int64, error) {
	return t.cfg.DB.TreeVersion(ctx, thread)
}

// refresh updates a copy taken by the caller.
func (t *Trees) refresh(ctx context.Context, c *local) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := t.update(ctx, c)
	return err
}

// update is refresh with c.mu held. It returns the newest version.
func (t *Trees) update(ctx context.Context, c *local) (int64, error) {
	v, err := t.cfg.DB.TreeVersion(ctx, c.thread)
	if err != nil || c.known && c.version == v {
		return v, err
	}
	c.known = false
	f, err := t.open(c.thread, v > 0)
	if f == nil {
		c.known, c.version = err == nil, v
		return v, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	i := loadIndex(f.base)
	if i.Version != v {
		keep, drop := !i.there || !t.alone(c), c.drop
		err := t.updateCopy(ctx, f, i, v, func(name string) bool { return keep && (!drop || inUploads(name)) })
		if err != nil {
			return v, fmt.Errorf("get the files of thread %s: %w", c.thread, err)
		}
		c.drop = false
		if q := t.cfg.Dirs.Quota; q != nil {
			q.Forget(c.thread)
		}
	}
	c.known, c.version = true, v
	return v, nil
}

// folder is a thread's folder: user is visible to programs, base has all.
type folder struct {
	thread     string
	base, user *os.Root
}

// open returns nil without an error for a thread without a folder, which is made when that is asked for.
func (t *Trees) open(thread string, create bool) (*folder, error) {
	at, err := t.cfg.Dirs.Folder(thread)
	if err != nil {
		return nil, err
	}
	if create {
		if err := t.cfg.Dirs.Create(thread); err != nil {
			return nil, err
		}
	}
	base, err := os.OpenRoot(at)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, files.OpError("open files of thread", thread, err)
	}
	user, err := os.OpenRoot(filepath.Join(at, "user-data"))
	if err != nil {
		err = errors.Join(err, base.Close())
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, files.OpError("open files of thread", thread, err)
	}
	return &folder{thread, base, user}, nil
}

func (f *folder) close() error { return errors.Join(f.base.Close(), f.user.Close()) }

// manifest returns a version of a thread's files, with the stored sizes of the full version and of the changes since.
func (t *Trees) manifest(ctx context.Context, thread string, v int64) (m manifest, whole, since int64, err error) {
	m = manifest{}
	if v <= 0 {
		return m, 0, 0, nil
	}
	list, err := t.cfg.DB.Trees(ctx, thread, v)
	if err != nil {
		return nil, 0, 0, err
	}
	for _, tree := range list {
		b, err := unpack(tree.Body)
		if err != nil {
			return nil, 0, 0, fmt.Errorf("version %d of the files of thread %s: %w", tree.Version, thread, err)
		}
		m.apply(b)
		if tree.Whole {
			whole = int64(len(tree.Body))
		} else {
			since += int64(len(tree.Body))
		}
	}
	return m, whole, since, nil
}

// Drop implements [files.Keeper]. Objects used only by the thread are removed later.
func (t *Trees) Drop(thread string) error {
	ctx, cancel := context.WithTimeout(context.Background(), dropTime)
	defer cancel()
	c := t.take(thread)
	defer t.giveBack(c)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known = false
	return t.cfg.DB.DropTrees(ctx, thread)
}

// Copy implements [files.Keeper]. No content is copied.
func (t *Trees) Copy(ctx context.Context, from, to string) error {
	return t.CopyVersion(ctx, from, 0, to)
}

// CopyVersion copies a version of thread from's files to thread to, which has none yet; 0 is the newest, and
// [store.NoTree] none.
func (t *Trees) CopyVersion(ctx context.Context, from string, version int64, to string) error {
	if version == store.NoTree {
		return nil
	}
	if version == 0 {
		var err error
		if version, err = t.SaveVersion(ctx, from); err != nil || version == 0 {
			return err
		}
	}
	return t.cfg.DB.CopyTrees(ctx, from, to, version)
}

// put stores m as the newest version of a thread.
func (t *Trees) put(ctx context.Context, thread string, parent int64, m manifest) error {
	all := m.whole()
	data, err := all.pack()
	if err != nil {
		return err
	}
	_, err = t.cfg.DB.PutTree(ctx, thread, store.Tree{Parent: parent, Whole: true, Body: data, Objects: all.objects()})
	return err
}

// Restore resets a thread's files to one of its versions, or to none with [store.NoTree]. Files uploaded since then
// stay. A missing version changes nothing.
func (t *Trees) Restore(ctx context.Context, thread string, version int64) error {
	return t.restore(ctx, thread, version, false)
}

// Undo is Restore for a reverted run. It also drops the run's unsaved changes, on any server, so it always creates a
// new version.
func (t *Trees) Undo(ctx context.Context, thread, run string, version int64) error {
	t.End(thread, run)
	c := t.take(thread)
	defer t.giveBack(c)
	c.mu.Lock()
	c.drop = true
	c.mu.Unlock()
	return t.restore(ctx, thread, version, true)
}

func (t *Trees) restore(ctx context.Context, thread string, version int64, anew bool) error {
	for n := 0; ; n++ {
		newest, err := t.cfg.DB.TreeVersion(ctx, thread)
		if err != nil || !anew && (newest == 0 || newest == version) {
			return err
		}
		m, _, _, err := t.manifest(ctx, thread, version)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		now, _, _, err := t.manifest(ctx, thread, newest)
		if err != nil {
			return err
		}
		for name, e := range now {
			if inUploads(name) {
				m[name] = e
			}
		}
		err = t.put(ctx, thread, newest, m)
		if !errors.Is(err, store.ErrConflict) || n == retries {
			return err
		}
	}
}

func inUploads(name string) bool { return strings.HasPrefix(name, "uploads/") }
