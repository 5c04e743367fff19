package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/store"
	"fawn/web"
	"fawn/web/storage"
)

// Migrate moves all rows from the configured database to another: "postgres://…" or "sqlite:DIR". Nobody
// may use either. With dry, it only checks whether that works.
func Migrate(ctx context.Context, o web.Options, to string, dry bool) error {
	dir, err := config.DataDir(o.Data)
	if err != nil {
		return err
	}
	if err := web.Ready(dir, o.Log); err != nil {
		return err
	}
	snap, err := config.Load(config.Options{Config: o.Config, DataDir: dir, Classes: lead.Classes()})
	if err != nil {
		return err
	}
	from, err := storage.Config(snap, dir)
	if err != nil {
		return err
	}
	from.Log = o.Log
	target, name, err := migrationTarget(from, to)
	if err != nil {
		return fmt.Errorf("--to: %w", err)
	}
	if target.URL != "" {
		// The rows may be in SQLite still while the configuration names their new place.
		from.URL = ""
	}
	tables, err := store.Move(ctx, from, target, name, dry)
	if err != nil {
		return err
	}
	rows := int64(0)
	for _, t := range tables {
		rows += t.Rows
		if t.Rows == 0 {
			continue
		}
		if _, err := fmt.Fprintf(o.Out, "%-20s %d\n", t.Name, t.Rows); err != nil {
			return err
		}
	}
	what := "Moved %d rows to %s, and compared them.\n"
	if dry {
		what = "%d rows can be moved to %s. Nothing was changed.\n"
	}
	_, err = fmt.Fprintf(o.Out, what, rows, name)
	return err
}

// MigrateTables migrates the tables of the configured PostgreSQL, even while compatible servers are running.
func MigrateTables(ctx context.Context, o web.Options) error {
	dir, err := config.DataDir(o.Data)
	if err != nil {
		return err
	}
	snap, err := config.Load(config.Options{Config: o.Config, DataDir: dir, Classes: lead.Classes()})
	if err != nil {
		return err
	}
	cfg, err := storage.Config(snap, dir)
	if err != nil {
		return err
	}
	if cfg.URL == "" {
		return errors.New("a file of SQLite is migrated at the next start. To move it: fawn migrate --to " +
			"postgres://user@host/name")
	}
	cfg.Log = o.Log
	from, to, err := store.MigrateTables(ctx, cfg)
	if err != nil {
		return fmt.Errorf("bring tables up to date: %w", err)
	}
	what := "The tables were brought from version %d to version %d.\n"
	if from >= to {
		what = "The tables are up to date: version %[2]d.\n"
	}
	_, err = fmt.Fprintf(o.Out, what, from, to)
	return err
}

// migrationTarget returns the database described by a text, and its name. Errors explain the syntax.
func migrationTarget(from store.Config, to string) (target store.Config, name string, err error) {
	target = store.Config{Dir: from.Dir, Schema: from.Schema, Log: from.Log, Readers: from.Readers}
	if dir, ok := strings.CutPrefix(to, "sqlite:"); ok {
		target.Dir = dir
		if err := checkFolder(dir); err != nil {
			return target, "", err
		}
		if from.URL == "" {
			return target, "", fmt.Errorf("the rows are in SQLite already, in %s. To have them in another folder, stop the "+
				"server and move that one. To move them to PostgreSQL, name postgres://user@host/name", from.Dir)
		}
		return target, "SQLite in " + dir, nil
	}
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return target, "", errors.New("name a database as postgres://user@host/name, or a folder as sqlite:DIR")
	}
	target.URL = to
	return target, u.Redacted(), nil
}

// checkFolder refuses a folder that can't hold a database. A missing one can.
func checkFolder(dir string) error {
	switch {
	case dir == "":
		return errors.New("name a folder as sqlite:DIR; it may be missing")
	case dir == "~" || strings.HasPrefix(dir, "~/"):
		return fmt.Errorf("the shell doesn't expand %s there; write the full path", dir)
	}
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err == nil && !info.IsDir() {
			return fmt.Errorf("%s is a file; name a folder as sqlite:DIR, which may be missing", at)
		}
		if err == nil || at == filepath.Dir(at) {
			return nil
		}
	}
}
