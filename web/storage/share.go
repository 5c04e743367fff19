package storage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"fawn/agent/clusterstate"
	"fawn/agent/config"
	"fawn/agent/profile"
	"fawn/agent/skills"
	"fawn/store"
)

// Share moves people's settings to storage shared by all servers of a database, and returns that. A server with its own
// database keeps them in files, and gets nil.
func Share(ctx context.Context, db *store.DB, conf *config.Store, log *slog.Logger) (*clusterstate.Rows, error) {
	if !db.Clustered() {
		return nil, nil
	}
	text, _ := conf.Current().Env(clusterstate.KeyVariable)
	keys, err := clusterstate.ParseKeys(text)
	var rows *clusterstate.Rows
	if err == nil {
		rows, err = clusterstate.Open(ctx, db, keys, log)
	}
	if err == nil && len(keys) > 0 {
		err = rows.Renew(ctx)
	}
	if err == nil {
		err = conf.Share(ctx, rows)
	}
	if err != nil {
		return nil, fmt.Errorf("settings that several servers share: %w", err)
	}
	return rows, nil
}

// Agents opens the custom agents of a data folder, which other servers have, too, if rows are shared.
func Agents(ctx context.Context, rows *clusterstate.Rows, dir string, log *slog.Logger) (*profile.Library, error) {
	lib, err := profile.Open(dir, store.DefaultOwner)
	if err != nil || rows == nil {
		return lib, err
	}
	folder := &clusterstate.Folder{Rows: rows, Name: "agents", Root: func() string { return dir }, Units: lib.Units, Log: log}
	if err := folder.Start(ctx); err != nil {
		return nil, errors.Join(err, lib.Close())
	}
	lib.Share(folder.Push)
	rows.Hear(func(names []string) error {
		if !folder.Changes(names) {
			return nil
		}
		return lib.Sync(folder.Pull)
	})
	return lib, nil
}

// Skills opens the skills, of which other servers have the custom ones, too, if rows are shared.
func Skills(ctx context.Context, rows *clusterstate.Rows, o skills.Options) (*skills.Library, error) {
	if rows == nil {
		return skills.Open(o)
	}
	folder := &clusterstate.Folder{Rows: rows, Name: "skills", Root: o.Path, Log: o.Log,
		Units: func() []string { return skills.Units(o.Path()) }}
	if err := folder.Start(ctx); err != nil {
		return nil, err
	}
	o.Push = folder.Push
	lib, err := skills.Open(o)
	if err != nil {
		return nil, err
	}
	rows.Hear(func(names []string) error {
		if !folder.Changes(names) {
			return nil
		}
		return lib.Sync(folder.Pull)
	})
	return lib, nil
}
