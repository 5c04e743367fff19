package web

import (
	"context"
	"errors"

	"fawn/agent/runs/recorder"
)

// versions returns the store of file versions for runs, nil without one.
func (a *App) versions() recorder.Files {
	if a.data.trees == nil {
		return nil
	}
	return newProjectTrees(a.data.trees, a.data.db)
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
