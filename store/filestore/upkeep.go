package filestore

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"fawn/sandbox/files"
)

const (
	idle      = 30 * time.Minute // unused copies may be removed after it
	spareTime = 24 * time.Hour   // unreferenced objects stay this long
	sweepStep = 200
	every     = 10 * time.Minute
)

// Clean removes objects that nothing names, until ctx ends. It is for one of the servers that share a database.
func (t *Trees) Clean(ctx context.Context) {
	for {
		if err := t.Sweep(ctx, t.cfg.DB.Now().Add(-spareTime)); err != nil && ctx.Err() == nil {
			t.cfg.Log.Warn("couldn't remove unreferenced objects", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(every):
		}
	}
}

// Run keeps copies within their limit, until ctx ends.
func (t *Trees) Run(ctx context.Context) {
	t.adopt(ctx)
	for {
		if err := t.Trim(ctx, time.Now().Add(-idle)); err != nil && ctx.Err() == nil {
			t.cfg.Log.Warn("couldn't remove local copies of files", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(every):
		}
	}
}

// each visits the folders of all threads, and of all projects.
func (t *Trees) each(visit func(id string) error) error {
	return errors.Join(t.cfg.Dirs.Threads(visit), t.cfg.Dirs.Shelves(visit))
}

// adopt stores the files of threads that were in their folders only.
func (t *Trees) adopt(ctx context.Context) {
	err := t.each(func(thread string) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		f, err := t.open(thread, false)
		if f == nil {
			return err
		}
		there := loadIndex(f.base).there
		if err := f.close(); err != nil || there {
			return err
		}
		if err := t.Save(ctx, thread); err != nil && ctx.Err() == nil {
			t.cfg.Log.Warn("couldn't upload a thread's files; they are on this server only", "thread", thread, "err", err)
		}
		return nil
	})
	if err != nil && ctx.Err() == nil {
		t.cfg.Log.Warn("couldn't list files to upload", "err", err)
	}
}

// Sweep removes objects that nothing names and that were named last before a moment.
func (t *Trees) Sweep(ctx context.Context, before time.Time) error {
	for {
		names, err := t.cfg.DB.SpareObjects(ctx, before, sweepStep)
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := t.cfg.Objects.Remove(ctx, name); err != nil {
				return err
			}
			if err := t.cfg.DB.DropObject(ctx, name); err != nil {
				return err
			}
		}
		if len(names) < sweepStep {
			return nil
		}
	}
}

// resting is a copy that may go.
type resting struct {
	thread string
	size   int64
	used   time.Time
}

// Trim removes the least recently used copies until the rest is within the limit. Recently used copies and those with
// unsaved changes stay.
func (t *Trees) Trim(ctx context.Context, before time.Time) error {
	t.forget(before)
	if t.cfg.Cache <= 0 {
		return nil
	}
	var sum int64
	var list []resting
	err := t.each(func(thread string) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		r, err := t.rest(thread)
		if err == nil && r.size > 0 {
			sum += r.size
			list = append(list, r)
		}
		return nil // failures don't stop the next check
	})
	if err != nil {
		return err
	}
	slices.SortFunc(list, func(a, b resting) int {
		return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.thread, b.thread))
	})
	for _, r := range list {
		if sum <= t.cfg.Cache || ctx.Err() != nil {
			break
		}
		gone, err := t.empty(ctx, r.thread, before)
		if err != nil {
			t.cfg.Log.Warn("couldn't remove the local copy of a thread's files", "thread", r.thread, "err", err)
		}
		if gone {
			sum -= r.size
		}
	}
	return nil
}

// forget drops the memory of copies not used since a moment.
func (t *Trees) forget(before time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for thread, c := range t.copies {
		if c.held == 0 && c.run == "" && c.used.Before(before) {
			delete(t.copies, thread)
		}
	}
}

// rest returns the size of a copy by its index.
func (t *Trees) rest(thread string) (r resting, err error) {
	f, err := t.open(thread, false)
	if f == nil {
		return r, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	info, err := f.base.Stat(indexName)
	if err != nil {
		return r, err
	}
	r = resting{thread: thread, used: info.ModTime()}
	for _, k := range loadIndex(f.base).Files {
		r.size += k.Entry.Size
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.copies[thread]; c != nil && c.used.After(r.used) {
		r.used = c.used
	}
	return r, nil
}

// empty removes the content of a copy except the folders themselves, which a sandbox may hold open.
func (t *Trees) empty(ctx context.Context, thread string, before time.Time) (gone bool, err error) {
	t.mu.Lock()
	c := t.copies[thread]
	busy := c != nil && (c.held > 0 || c.run != "" || !c.used.Before(before))
	t.mu.Unlock()
	if busy {
		return false, nil
	}
	c = t.take(thread)
	defer t.giveBack(c)
	c.mu.Lock()
	defer c.mu.Unlock()
	f, err := t.open(thread, false)
	if f == nil {
		return false, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	i := loadIndex(f.base)
	now, err := scan(ctx, f.user)
	if err != nil || !t.alone(c) || len(now.files) != len(i.Files) {
		return false, err
	}
	for name, is := range now.files {
		if !i.clean(f.user, name, is) {
			return false, nil
		}
	}
	c.known = false
	if err := f.base.Remove(indexName); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	for _, top := range tops {
		if err := t.clear(f, thread, top); err != nil {
			return false, err
		}
	}
	if q := t.cfg.Dirs.Quota; q != nil {
		q.Forget(thread)
	}
	return true, nil
}

// clear empties one folder.
func (t *Trees) clear(f *folder, thread, top string) error {
	dir, err := f.user.Open(top)
	if err != nil {
		return err
	}
	names, err := dir.Readdirnames(-1)
	if err = errors.Join(err, dir.Close()); err != nil {
		return err
	}
	for _, name := range names {
		if f.user.RemoveAll(top+"/"+name) == nil {
			continue
		}
		at, err := t.cfg.Dirs.Folder(thread)
		if err != nil {
			return err
		}
		if err := files.Loosen(filepath.Join(at, "user-data", top)); err != nil {
			return err
		}
		if err := os.RemoveAll(filepath.Join(at, "user-data", top, name)); err != nil {
			return err
		}
	}
	return nil
}
