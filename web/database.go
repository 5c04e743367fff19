package web

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strings"

	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/store"
)

// ErrReplaced is why a server ends from which another has taken the database over, or may have.
var ErrReplaced = store.ErrFenced

// OpenStore opens the database of a data folder for a command, wherever the configuration says it is.
func OpenStore(ctx context.Context, o Options, dir string) (*store.DB, error) {
	snap, err := config.Load(config.Options{Config: o.Config, DataDir: dir, Classes: lead.Classes()})
	if err != nil {
		return nil, err
	}
	cfg, err := StoreConfig(snap, dir)
	if err != nil {
		return nil, err
	}
	cfg.Log, cfg.Version = o.Log, o.Version
	cfg.Timeout = -1 // what a command does takes as long as it takes
	return store.Open(ctx, cfg)
}

// InPostgreSQL says whether a configuration keeps everything but files there.
func InPostgreSQL(snap *config.Snapshot) bool {
	address, err := postgreSQL(snap)
	return address != "" || err != nil
}

// StoreConfig is how to open the database that a configuration names, for a data folder.
func StoreConfig(snap *config.Snapshot, dir string) (store.Config, error) {
	address, err := postgreSQL(snap)
	db := &snap.File.Database
	cfg := store.Config{Dir: dir, URL: address, Schema: db.Schema, Readers: db.PoolSize, Sync: snap.File.Store.Sync,
		Lease: snap.File.Cluster.Lease}
	if limit := db.CommandTimeout; limit != nil {
		cfg.Timeout = cmp.Or(*limit, -1)
	}
	return cfg, err
}

// warnOfPostgreSQL tells what is set and works with SQLite only.
func warnOfPostgreSQL(snap *config.Snapshot, log *slog.Logger) {
	if !InPostgreSQL(snap) {
		return
	}
	if snap.File.Retention.MaxSize > 0 {
		log.Warn("retention.max_size has no effect on a database in PostgreSQL")
	}
	if b := snap.File.Backup; b.Every > 0 || b.Cron != "" {
		log.Warn("backups have files only, as the database is in PostgreSQL; copy it with pg_dump")
	}
}

// postgreSQL is the address of the database that has everything but files, "" when that is SQLite in
// the data folder. DeerFlow's keys count where database.url is not set.
func postgreSQL(snap *config.Snapshot) (string, error) {
	db := &snap.File.Database
	address := string(db.URL)
	if address == "" && db.Backend == "postgres" {
		env, _ := snap.Env("POSTGRES_URI")
		if address = cmp.Or(string(db.PostgresURL), env); address == "" {
			return "", errors.New("database.backend is postgres, and nothing says where that is: set database.url, " +
				"database.postgres_url or POSTGRES_URI")
		}
	}
	if address == "" {
		return "", nil
	}
	scheme, rest, ok := strings.Cut(address, "://")
	scheme, _, _ = strings.Cut(scheme, "+") // as SQLAlchemy names the driver
	if !ok || scheme != "postgres" && scheme != "postgresql" {
		return "", errors.New("database.url must be an address like postgres://user:password@host/name")
	}
	return scheme + "://" + rest, nil
}
