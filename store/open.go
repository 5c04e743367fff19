package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	fileName    = "fawn.db"
	reserveName = "reserve"
	reserveSize = 16 << 20
)

// Open makes the data folder when it is missing, locks it, brings the schema up
// to date and starts the writer. A folder that another process holds gives a
// *LockedError, a file made by a newer program a *VersionError.
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

	sync, err := syncMode(cfg.Sync)
	if err != nil {
		return nil, err
	}
	if cfg.Readers <= 0 {
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

	if err := checkPresent(dir); err != nil {
		return nil, err
	}
	// Made by hand so that the file and its log are readable to the owner only.
	f, err := os.OpenFile(filepath.Join(dir, fileName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	if info.Size() == 0 {
		if err := prepareFile(ctx, dir); err != nil {
			return nil, err
		}
	}

	pool, err := openPool(dir, "_txlock=immediate", "journal_mode(WAL)", "synchronous("+sync+")", "cache_size(-4000)",
		"temp_store(memory)", "secure_delete(FAST)", "wal_autocheckpoint(1000)", "journal_size_limit(67108864)")
	if err != nil {
		return nil, err
	}
	undo = append(undo, pool.Close)
	pool.SetMaxOpenConns(1)
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, damaged(dir, translate(err))
	}
	if err := migrate(ctx, conn, migrationFiles, dir, time.Now()); err != nil {
		return nil, damaged(dir, err)
	}

	readers, err := openReaders(dir, cfg)
	if err != nil {
		return nil, err
	}
	undo = append(undo, readers.Close)
	w, err := newWriter(ctx, pool, conn, dir, cfg)
	if err != nil {
		return nil, err
	}
	if err := w.restoreReserve(); err != nil {
		cfg.Log.Warn("no room for the store's reserve file", "dir", dir, "bytes", reserveSize, "err", err)
	}
	go w.run()
	return &DB{cfg: cfg, dir: dir, lock: lock, readers: readers, w: w, stmts: map[string]*sql.Stmt{}}, nil
}

// openReaders opens the connections that read.
func openReaders(dir string, cfg Config, options ...string) (*sql.DB, error) {
	readers, err := openPool(dir, append(options, "mode=ro", "query_only(1)", "cache_size(-2000)",
		"temp_store(memory)")...)
	if err != nil {
		return nil, err
	}
	readers.SetMaxOpenConns(cfg.Readers)
	readers.SetMaxIdleConns(cfg.Readers)
	readers.SetConnMaxIdleTime(30 * time.Second) // gives the page caches back when nobody reads
	return readers, nil
}

func syncMode(s string) (string, error) {
	switch s {
	case "", "normal":
		return "NORMAL", nil
	case "full":
		return "FULL", nil
	}
	return "", fmt.Errorf("store.sync is %q: must be normal or full", s)
}

// openPool opens the database file of dir. An option with "=" is a parameter of
// the address, any other a pragma for every new connection; the driver sets the
// busy timeout first and chooses the order of the others.
func openPool(dir string, options ...string) (*sql.DB, error) {
	return openFile(filepath.Join(dir, fileName), options...)
}

// openFile is openPool for a file of another name.
func openFile(path string, options ...string) (*sql.DB, error) {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive letter
	}
	var b strings.Builder
	b.WriteString("file://" + (&url.URL{Path: path}).EscapedPath() + "?_pragma=busy_timeout(5000)")
	for _, o := range options {
		if !strings.Contains(o, "=") {
			o = "_pragma=" + url.QueryEscape(o)
		}
		b.WriteString("&" + o)
	}
	return sql.Open("sqlite", b.String())
}

// restoreReserve makes the file whose deletion leaves room to write down how
// things ended when the disk is full. It is filled with noise because some file
// systems store zeros in no space at all.
func (w *writer) restoreReserve() error {
	path := filepath.Join(w.dir, reserveName)
	if fi, err := os.Stat(path); err == nil && fi.Size() == reserveSize {
		return nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	block := make([]byte, 1<<20)
	rand.Read(block)
	for n := 0; n < reserveSize && err == nil; n += len(block) {
		_, err = f.Write(block)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(path)
	}
	return err
}

func (w *writer) dropReserve() {
	if err := os.Remove(filepath.Join(w.dir, reserveName)); err == nil {
		w.log.Warn("the disk is full or failing: freed the store's reserve file", "dir", w.dir, "bytes", reserveSize)
	}
}
