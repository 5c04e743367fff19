package web

import (
	"context"
	"errors"
	"sync"

	"fawn/agent/projects"
	"fawn/agent/runs/recorder"
	"fawn/store"
	"fawn/store/filestore"
)

// versions returns the store of file versions for runs, nil without one.
func (d *data) versions() recorder.Files {
	if d.trees == nil {
		return nil
	}
	return &projectTrees{Trees: d.trees, db: d.db, held: map[string]func(){}}
}

// copyFiles copies a thread's files to its copy, with the state of their documents.
func (a *App) copyFiles(ctx context.Context, from, to string) error {
	if err := a.data.dirs.Copy(ctx, from, to); err != nil {
		return err
	}
	return errors.Join(a.tools.documents.Copy(ctx, from, to), a.tools.switches.Copy(ctx, from, to))
}

// copyVersion is copyFiles for a version, nil without versions.
func (a *App) copyVersion() func(ctx context.Context, from string, version int64, to string) error {
	if a.data.trees == nil {
		return nil
	}
	return func(ctx context.Context, from string, version int64, to string) error {
		if err := a.data.trees.CopyVersion(ctx, from, version, to); err != nil {
			return err
		}
		return errors.Join(a.tools.documents.Copy(ctx, from, to), a.tools.switches.Copy(ctx, from, to))
	}
}

// projectTrees keeps versions of the files of threads and of their projects.
type projectTrees struct {
	*filestore.Trees
	db *store.DB

	mu   sync.Mutex
	held map[string]func() // by run: releases the copy of its project's files
}

// Begin also updates the files of a thread's project, and keeps them until the run ends.
func (t *projectTrees) Begin(ctx context.Context, thread, run string) error {
	if err := t.Trees.Begin(ctx, thread, run); err != nil {
		return err
	}
	shelf, err := projects.Shelf(t.db)(thread)
	if err != nil || shelf.ID == "" {
		return err
	}
	release, err := t.Hold(shelf.ID)
	if err != nil {
		return err
	}
	t.mu.Lock()
	old := t.held[run]
	t.held[run] = release
	t.mu.Unlock()
	if old != nil {
		old()
	}
	return nil
}

// End releases the locks of Begin.
func (t *projectTrees) End(thread, run string) {
	t.Trees.End(thread, run)
	t.mu.Lock()
	release := t.held[run]
	delete(t.held, run)
	t.mu.Unlock()
	if release != nil {
		release()
	}
}

// SaveVersion stores changes in the project, too. The version is the thread's.
func (t *projectTrees) SaveVersion(ctx context.Context, thread string) (int64, error) {
	v, err := t.Trees.SaveVersion(ctx, thread)
	shelf, failed := projects.Shelf(t.db)(thread)
	if failed == nil && shelf.Write && shelf.ID != "" {
		failed = t.Save(ctx, shelf.ID)
		if id, ok := store.ShelfProject(shelf.ID); ok {
			if gone, err := t.db.SettleShelf(ctx, id); gone || err != nil { // deleted while the chat wrote
				failed = err
			}
		}
	}
	return v, errors.Join(err, failed)
}
