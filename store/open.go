package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"fawn/store/commit"
	"fawn/store/folder"
	"fawn/store/postgres"
	"fawn/store/sqlite"
	"fawn/store/wake"
)

// Open creates the data folder if it is missing, locks it, migrates the schema and starts the writer. A folder used by
// another process returns a *LockedError, a file written by a newer program a *VersionError.
func Open(ctx context.Context, cfg Config) (*DB, error) {
	db, err := open(ctx, cfg)
	if d := (*DamagedError)(nil); errors.As(err, &d) {
		return nil, d
	}
	if err != nil {
		return nil, fmt.Errorf("open store in %s: %w", cfg.Dir, err)
	}
	return db, nil
}

func open(ctx context.Context, cfg Config) (_ *DB, err error) {
	var undo []func() error
	defer func() {
		if err == nil {
			return
		}
		for i := len(undo) - 1; i >= 0; i-- {
			undo[i]()
		}
	}()

	if _, err := sqlite.SyncMode(cfg.Sync); err != nil {
		return nil, err
	}
	if cfg.Readers <= 0 && cfg.URL != "" {
		cfg.Readers = 8
	} else if cfg.Readers <= 0 {
		cfg.Readers = 4
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	dir, err := filepath.Abs(cfg.Dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := folder.Take(dir, cfg.Addr)
	if err != nil {
		return nil, err
	}
	undo = append(undo, lock.Release)

	var e commit.Engine
	var pg *postgres.Engine
	if cfg.URL == "" {
		if lock.Unclean {
			err = sqlite.CheckLog(ctx, dir, cfg.Log)
		}
		if err == nil {
			e, err = sqlite.Open(ctx, dir, cfg.sqlite())
		}
		if err == nil {
			if err = lock.Mark(dir, true); err != nil {
				err = errors.Join(err, e.Close())
			}
		}
	} else {
		pg, err = postgres.Open(ctx, cfg.postgres(lock.Folder))
		e = pg
	}
	if err != nil {
		return nil, err
	}
	undo = append(undo, e.Close)
	if err := moved(ctx, e); err != nil {
		return nil, err
	}
	w, err := openWriter(ctx, e, pg, dir, cfg)
	if err != nil {
		return nil, err
	}
	w.wakes = wake.New(e.Self())
	if pg != nil {
		pg.Listen(w.wakes, cfg.Wake != WakePoll)
	}
	go w.Run()
	return &DB{cfg: cfg, dir: dir, lock: lock, engine: e, pg: pg, w: w, stmts: map[string]*sql.Stmt{}}, nil
}

// moved rejects a database whose rows were moved.
func moved(ctx context.Context, e commit.Engine) error {
	var to string
	const query = `SELECT body FROM kv WHERE owner = '' AND space = '` + movedSpace + `' AND key = 'to'`
	err := e.Reads().QueryRowContext(ctx, query).Scan(&to)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return translate(err)
	}
	return &MovedError{To: to}
}

// OpenCopy opens a copy of a read-only folder's database. The copy is in the temporary folder and is deleted by
// [DB.Close]. A folder used by another process returns a *LockedError.
func OpenCopy(ctx context.Context, cfg Config) (*DB, error) {
	release, err := folder.Share(cfg.Dir)
	if err != nil {
		return nil, err
	}
	defer release()
	if err := sqlite.CheckPresent(cfg.Dir); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "fawn-copy-*")
	if err != nil {
		return nil, err
	}
	for _, name := range []string{FileName, FileName + "-wal"} {
		err := copyFile(filepath.Join(dir, name), filepath.Join(cfg.Dir, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, errors.Join(err, os.RemoveAll(dir))
		}
	}
	cfg.Dir = dir
	db, err := Open(ctx, cfg)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	db.copied = true
	return db, nil
}

func copyFile(to, from string) (err error) {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Close())
}
