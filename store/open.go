package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
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

	if _, err := syncMode(cfg.Sync); err != nil {
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
	lock, err := lockDir(dir, cfg.Addr)
	if err != nil {
		return nil, err
	}
	undo = append(undo, lock.release)

	var e engine
	var pg *postgresEngine
	if cfg.URL == "" {
		if lock.unclean {
			err = checkLog(ctx, dir, cfg.Log)
		}
		if err == nil {
			e, err = openSQLite(ctx, dir, cfg.sqlite())
		}
		if err == nil {
			if err = lock.mark(dir, true); err != nil {
				err = errors.Join(err, e.close())
			}
		}
	} else {
		pg, err = openPostgres(ctx, cfg.postgres(lock.folder))
		e = pg
	}
	if err != nil {
		return nil, err
	}
	undo = append(undo, e.close)
	if err := moved(ctx, e); err != nil {
		return nil, err
	}
	w, err := openWriter(ctx, e, pg, dir, cfg)
	if err != nil {
		return nil, err
	}
	w.wakes = newHub(e.self())
	if pg != nil {
		pg.listen(w.wakes, cfg.Wake != WakePoll)
	}
	go w.run()
	return &DB{cfg: cfg, dir: dir, lock: lock, engine: e, pg: pg, w: w, stmts: map[string]*sql.Stmt{}}, nil
}

// moved rejects a database whose rows were moved.
func moved(ctx context.Context, e engine) error {
	var to string
	const query = `SELECT body FROM kv WHERE owner = '' AND space = '` + movedSpace + `' AND key = 'to'`
	err := e.reads().QueryRowContext(ctx, query).Scan(&to)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return translate(err)
	}
	return &MovedError{To: to}
}
