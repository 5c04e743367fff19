package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/agent/threads"
	"fawn/sandbox/files"
	"fawn/store"
	"fawn/web"
	"fawn/web/storage"
)

// lostFolder is the folder to which a repair moves folders without a thread.
const lostFolder = "lost"

// Fsck reads everything in the data folder and lists every broken reference. With repair it fixes everything that can
// be fixed without losing visible content, and checks again. Files in an object store are looked up, and read with
// deep. ok is false if something is still broken. A folder in use by a server is refused, with a *store.LockedError.
func Fsck(ctx context.Context, o web.Options, repair, deep bool) (ok bool, err error) {
	dir, err := config.DataDir(o.Data)
	if err != nil {
		return false, err
	}
	if _, err := os.Stat(dir); err != nil { // checking must not create one
		return false, fmt.Errorf("can't read the data folder %s: %w", dir, errors.Unwrap(err))
	}
	db, dirs, err := web.OpenStore(ctx, o, dir)
	if readOnly(err) {
		if repair {
			return false, fmt.Errorf("can't repair the data folder %s, which is not writable: %w", dir, err)
		}
		db, err = store.OpenCopy(ctx, store.Config{Dir: dir, Log: o.Log})
		dirs = files.Dirs{Root: dir}
	}
	if d := (*store.DamagedError)(nil); errors.As(err, &d) {
		_, err := fmt.Fprintf(o.Out, "The database %s cannot be opened: %v. %s.\n", d.Path, d.Err, d.Remedy())
		return false, err
	}
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	f := fsck{db: db, dirs: dirs}
	if repair {
		if err := f.repair(ctx, o); err != nil {
			return false, err
		}
	}
	found, err := f.check(ctx)
	if err != nil {
		return false, err
	}
	for _, s := range found {
		if _, err := fmt.Fprintln(o.Out, s); err != nil {
			return false, err
		}
	}
	if len(found) == 0 {
		if _, err := fmt.Fprintln(o.Out, "Every reference is whole."); err != nil {
			return false, err
		}
	}
	ok, err = f.objects(ctx, o, dir, deep)
	return ok && len(found) == 0, err
}

// readOnly reports whether a folder could not be opened because it cannot be written to.
func readOnly(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}

type fsck struct {
	db   *store.DB
	dirs files.Dirs
}

// check returns the findings in and next to the database.
func (f fsck) check(ctx context.Context) ([]string, error) {
	found, err := f.db.Check(ctx)
	if err != nil {
		return nil, err
	}
	unreadable, err := threads.Check(ctx, f.db)
	if err != nil {
		return nil, err
	}
	found = append(found, unreadable...)
	lost, err := f.lost(ctx)
	for _, id := range lost {
		at, err := f.dirs.Folder(id)
		if err != nil {
			return nil, err
		}
		at = filepath.Join(filepath.Base(filepath.Dir(at)), filepath.Base(at))
		found = append(found, fmt.Sprintf("Folder %s belongs to no thread or project.", at))
	}
	return found, err
}

// lost returns the folders without a thread: leftovers of deleted ones, or uploads to one that was never started.
func (f fsck) lost(ctx context.Context) ([]string, error) {
	var lost []string
	err := f.dirs.Threads(func(id string) error {
		if files.Probe(id) { // the next server removes it
			return nil
		}
		_, err := f.db.Thread(ctx, id)
		if errors.Is(err, store.ErrNotFound) {
			lost, err = append(lost, id), nil
		}
		return err
	})
	if err != nil {
		return lost, err
	}
	known := map[string]bool{}
	if err := f.db.AllProjects(ctx, func(id string) error { known[store.ShelfOf(id)] = true; return nil }); err != nil {
		return lost, err
	}
	if err := f.db.AllCollections(ctx, func(id string) error { known[store.CollectionShelf(id)] = true; return nil }); err != nil {
		return lost, err
	}
	err = f.dirs.Shelves(func(shelf string) error {
		if !known[shelf] {
			lost = append(lost, shelf)
		}
		return nil
	})
	return lost, err
}

// repair makes the safe repairs and reports them.
func (f fsck) repair(ctx context.Context, o web.Options) error {
	found, err := f.check(ctx)
	if err != nil || len(found) == 0 {
		return err
	}
	did, err := f.db.Repair(ctx)
	if err != nil {
		return err
	}
	lost, err := f.lost(ctx)
	if err != nil {
		return err
	}
	for _, id := range lost {
		to, err := f.putAside(id)
		if err != nil {
			return err
		}
		did = append(did, "moved the files of "+id+", which belong to no thread or project, to "+to)
	}
	for _, s := range did {
		if _, err := fmt.Fprintln(o.Out, "Mended:", s); err != nil {
			return err
		}
	}
	return nil
}

// putAside moves a folder out of the threads, under a name that is free.
func (f fsck) putAside(id string) (string, error) {
	base := filepath.Join(f.dirs.Above(), lostFolder)
	if err := os.MkdirAll(base, 0o700); err != nil {
		return "", err
	}
	to := filepath.Join(base, id)
	for n := 2; ; n++ {
		if _, err := os.Lstat(to); errors.Is(err, os.ErrNotExist) {
			break
		}
		to = filepath.Join(base, fmt.Sprintf("%s-%d", id, n))
	}
	at, err := f.dirs.Folder(id)
	if err != nil {
		return "", err
	}
	return to, os.Rename(at, to)
}

// objects checks the files in an object store, if there is one, and lists missing ones; with deep also those with
// different content.
func (f fsck) objects(ctx context.Context, o web.Options, dir string, deep bool) (ok bool, err error) {
	snap, err := config.Load(config.Options{Config: o.Config, DataDir: dir, Classes: lead.Classes()})
	if err != nil {
		return false, err
	}
	b, err := storage.Bucket(snap, nil)
	if b == nil {
		return true, err
	}
	defer b.Close()
	ok = true
	n, err := storage.Check(ctx, f.db, b, deep, func(finding string) error {
		ok = false
		_, err := fmt.Fprintln(o.Out, finding)
		return err
	})
	if err != nil || !ok {
		return false, err
	}
	return true, sayObjects(o.Out, n, deep)
}

// sayObjects reports the intact files.
func sayObjects(out io.Writer, n int, deep bool) error {
	what := "are all there"
	if deep {
		what = "are all there, with the bytes that were stored"
	}
	_, err := fmt.Fprintf(out, "The %d objects that have files of chats %s.\n", n, what)
	return err
}
