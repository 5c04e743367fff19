package web

import (
	"context"
	"errors"

	"fawn/agent/runs/recorder"
)

// versions are what runs keep of files, if they do.
func (a *App) versions() recorder.Files {
	if a.trees == nil {
		return nil
	}
	return newProjectTrees(a.trees, a.db)
}

// copyFiles gives a thread's copy its files, with what is known of the documents among them.
func (a *App) copyFiles(ctx context.Context, from, to string) error {
	if err := a.dirs.Copy(ctx, from, to); err != nil {
		return err
	}
	return errors.Join(a.documents.Copy(ctx, from, to), a.switches.Copy(ctx, from, to))
}

// copyVersion is copyFiles as of a version, nil where there are none.
func (a *App) copyVersion() func(ctx context.Context, from string, version int64, to string) error {
	if a.trees == nil {
		return nil
	}
	return func(ctx context.Context, from string, version int64, to string) error {
		if err := a.trees.CopyVersion(ctx, from, version, to); err != nil {
			return err
		}
		return errors.Join(a.documents.Copy(ctx, from, to), a.switches.Copy(ctx, from, to))
	}
}
