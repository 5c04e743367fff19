// Package storage decides where an installation keeps its rows and the files of its threads, and checks that servers
// can share them.
package storage

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"fawn/agent/config"
	"fawn/sandbox/files"
	"fawn/store"
)

// InPostgreSQL reports whether a configuration keeps everything but files there.
func InPostgreSQL(snap *config.Snapshot) bool {
	address, err := postgreSQL(snap)
	return address != "" || err != nil
}

// Config returns the options to open the configured database, for a data folder and a single process.
func Config(snap *config.Snapshot, dir string) (store.Config, error) {
	address, err := postgreSQL(snap)
	db := &snap.File.Database
	cfg := store.Config{Dir: dir, URL: address, Schema: db.Schema, Readers: db.PoolSize, Sync: snap.File.Store.Sync,
		Lease: snap.File.Cluster.Lease, NoMigrate: db.Migrate == "off",
		MaxPending: snap.File.Runs.MaxPending}
	if cfg.ListenURL = string(db.ListenURL); cfg.ListenURL != "" && err == nil {
		cfg.ListenURL, err = listenURL(cfg)
	}
	if limit := db.CommandTimeout; limit != nil {
		cfg.Timeout = cmp.Or(*limit, -1)
	}
	return cfg, err
}

// Join is [Config] for a server, which shares the database if configured.
func Join(snap *config.Snapshot, dir string) (store.Config, error) {
	cfg, err := Config(snap, dir)
	f := &snap.File
	switch {
	case err != nil || !f.Cluster.Enabled:
		return cfg, err
	case cfg.URL == "":
		return cfg, errors.New("cluster.enabled needs a database in PostgreSQL: set database.url for all servers, or " +
			"remove cluster.enabled")
	case f.Files.Dir == "" && f.Files.URL == "":
		return cfg, errors.New("cluster.enabled needs files.dir or files.url: set it to a folder that all servers " +
			"share, or to an object store, for the files of threads")
	}
	cfg.Cluster, cfg.Settings = true, fileSum(snap.ConfigPath)
	if f.Cluster.Wake == "poll" {
		cfg.Wake = store.WakePoll
	}
	return cfg, nil
}

// fileSum returns a short sum of a configuration's text, "" for none. Servers show it to each other.
func fileSum(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// Dirs returns the folders of threads for a data folder.
func Dirs(snap *config.Snapshot, dir string) (files.Dirs, error) {
	d, shared := files.Dirs{Root: dir}, snap.File.Files.Dir
	switch {
	case shared != "" && snap.File.Files.URL != "":
		return d, errors.New("files.dir and files.url are both set: the files of threads are in one of them")
	case shared == "":
		return d, nil
	case !InPostgreSQL(snap):
		return d, errors.New("files.dir needs a database in PostgreSQL: set database.url, or remove files.dir")
	case !filepath.IsAbs(shared):
		return d, fmt.Errorf("files.dir must be an absolute path, not %q", shared)
	}
	real, err := filepath.EvalSymlinks(shared)
	if err != nil {
		return d, fmt.Errorf("files.dir: %w. Mount the folder, or create it", err)
	}
	d.Shared = real
	return d, nil
}

// Warn reports settings that only work with SQLite.
func Warn(snap *config.Snapshot, log *slog.Logger) {
	if b := snap.File.Backup; snap.File.Files.URL != "" && (b.Every > 0 || b.Cron != "") {
		log.Warn("backups contain only cached thread files; all of them are in files.url")
	}
	if !InPostgreSQL(snap) {
		return
	}
	if snap.File.Retention.MaxSize > 0 {
		log.Warn("retention.max_size has no effect with PostgreSQL")
	}
	if b := snap.File.Backup; b.Every > 0 || b.Cron != "" {
		log.Warn("backups contain files only; back up PostgreSQL with pg_dump")
		if snap.File.Files.Dir != "" {
			log.Warn("backups don't contain thread files; back up files.dir too")
		}
	}
}

// postgreSQL returns the address of the database that has everything but files, "" when that is SQLite in the data
// folder. DeerFlow's keys count where database.url is not set.
func postgreSQL(snap *config.Snapshot) (string, error) {
	db := &snap.File.Database
	address := string(db.URL)
	if address == "" && db.Backend == "postgres" {
		env, _ := snap.Env("POSTGRES_URI")
		if address = cmp.Or(string(db.PostgresURL), env); address == "" {
			return "", errors.New("database.backend is postgres, but its address is missing: set database.url, " +
				"database.postgres_url or POSTGRES_URI")
		}
	}
	if address == "" {
		return "", nil
	}
	return plainURL("database.url", address)
}

// plainURL returns an address as PostgreSQL writes it.
func plainURL(key, address string) (string, error) {
	scheme, rest, ok := strings.Cut(address, "://")
	scheme, _, _ = strings.Cut(scheme, "+") // as SQLAlchemy names the driver
	if !ok || scheme != "postgres" && scheme != "postgresql" {
		return "", errors.New(key + " must be an address like postgres://user:password@host/name")
	}
	return scheme + "://" + rest, nil
}

func listenURL(cfg store.Config) (string, error) {
	if cfg.URL == "" {
		return "", errors.New("database.listen_url is for a pooler that database.url leads to: set database.url, too")
	}
	return plainURL("database.listen_url", cfg.ListenURL)
}
