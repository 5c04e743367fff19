package web

import (
	"context"

	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/sandbox/files"
	"fawn/store"
	"fawn/web/storage"
)

// ErrReplaced is why a server ends from which another has taken the database over, or may have.
var ErrReplaced = store.ErrFenced

// OpenStore opens a data folder's configured database for a command, and returns the location of the threads' files.
func OpenStore(ctx context.Context, o Options, dir string) (*store.DB, files.Dirs, error) {
	snap, err := config.Load(config.Options{Config: o.Config, DataDir: dir, Classes: lead.Classes()})
	if err != nil {
		return nil, files.Dirs{}, err
	}
	dirs, err := storage.Dirs(snap, dir)
	if err != nil {
		return nil, dirs, err
	}
	cfg, err := storage.Config(snap, dir)
	if err != nil {
		return nil, dirs, err
	}
	cfg.Log, cfg.Version = o.Log, o.Version
	cfg.Timeout = -1 // commands have no time limit
	db, err := store.Open(ctx, cfg)
	return db, dirs, err
}
