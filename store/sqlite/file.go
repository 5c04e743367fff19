package sqlite

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"fawn/store/commit"
	"fawn/store/folder"
)

const (
	reserveName = "reserve"
	reserveSize = 16 << 20
)

// Options are the settings of a database file.
type Options struct {
	Sync    string // "normal" (default; a power cut may lose the last moments) or "full"
	Readers int    // maximum number of read connections
	Log     *slog.Logger
}

// makeFile creates the database file of a folder unless it exists. It sets the permissions explicitly
// so that the file and its log are readable to the owner only.
func makeFile(ctx context.Context, dir string) error {
	if err := CheckPresent(dir); err != nil {
		return err
	}
	return NewFile(ctx, dir)
}

// NewFile creates a database file unless it exists, also next to the files of threads.
func NewFile(ctx context.Context, dir string) error {
	f, err := os.OpenFile(filepath.Join(dir, folder.FileName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if info.Size() > 0 {
		return nil
	}
	image, err := emptyImages.next(ctx)
	if err != nil {
		return err
	}
	if image != nil {
		return os.WriteFile(filepath.Join(dir, folder.FileName), image, 0o600)
	}
	return prepareFile(ctx, dir)
}

// prepareFile chooses the form of a new database file, which cannot be changed later: the
// size of its pages, and that it can shrink. The order matters, and a pool would not keep
// it: all of this must come before the first page is written.
func prepareFile(ctx context.Context, dir string) error {
	pool, err := OpenPool(dir)
	if err != nil {
		return err
	}
	defer pool.Close()
	conn, err := pool.Conn(ctx)
	if err != nil {
		return translate(err)
	}
	defer conn.Close()
	for _, p := range []string{fmt.Sprintf("PRAGMA page_size = %d", PageSize), "PRAGMA auto_vacuum = INCREMENTAL",
		"PRAGMA journal_mode = WAL"} {
		if _, err := conn.ExecContext(ctx, p); err != nil {
			return translate(err)
		}
	}
	return nil
}

// openReaders opens the connections that read.
func openReaders(dir string, cfg Options, options ...string) (*sql.DB, error) {
	readers, err := OpenPool(dir, append(options, "mode=ro", "query_only(1)", "cache_size(-2000)",
		"temp_store(memory)")...)
	if err != nil {
		return nil, err
	}
	readers.SetMaxOpenConns(cfg.Readers)
	readers.SetMaxIdleConns(cfg.Readers)
	readers.SetConnMaxIdleTime(30 * time.Second) // frees page caches while there are no readers
	return readers, nil
}

// SyncMode returns the pragma for a setting, or an error that names the setting.
func SyncMode(s string) (string, error) {
	switch s {
	case "", "normal":
		return "NORMAL", nil
	case "full":
		return "FULL", nil
	}
	return "", fmt.Errorf("store.sync is %q: must be normal or full", s)
}

// OpenPool opens the database file of dir. An option with "=" is a parameter of
// the address, any other a pragma for every new connection; the driver sets the
// busy timeout first and chooses the order of the others.
func OpenPool(dir string, options ...string) (*sql.DB, error) {
	return openFile(filepath.Join(dir, folder.FileName), options...)
}

// openFile is openPool for a file with another name.
func openFile(path string, options ...string) (*sql.DB, error) {
	if err := mergeFunction(); err != nil {
		return nil, err
	}
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

// restoreReserve creates the reserve file, which is deleted on a full disk to make room for storing how runs ended.
func (e *Engine) restoreReserve() error {
	path := filepath.Join(e.dir, reserveName)
	if fi, err := os.Stat(path); err == nil && fi.Size() == reserveSize {
		return nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if err = allocate(f, reserveSize); errors.Is(err, errors.ErrUnsupported) {
		err = fill(f, reserveSize)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(path)
	}
	return err
}

// fill writes noise to a new file, because some file systems store zeros in no space at all.
func fill(f *os.File, size int) (err error) {
	block := make([]byte, 1<<20)
	rand.Read(block)
	for n := 0; n < size && err == nil; n += len(block) {
		_, err = f.Write(block)
	}
	return err
}

// Relieve implements [commit.Engine].
func (e *Engine) Relieve() {
	if err := os.Remove(filepath.Join(e.dir, reserveName)); err == nil {
		e.log.Warn("the disk is full or failing: freed the store's reserve file", "dir", e.dir, "bytes", reserveSize)
	}
}

// Size implements [commit.Engine].
func (e *Engine) Size(ctx context.Context) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	var n int64
	for _, name := range []string{folder.FileName, folder.FileName + "-wal"} {
		switch fi, err := os.Stat(filepath.Join(e.dir, name)); {
		case err == nil:
			n += fi.Size()
		case !errors.Is(err, fs.ErrNotExist):
			return 0, err
		}
	}
	return n, nil
}

// Room implements [commit.Engine].
func (e *Engine) Room(ctx context.Context) (commit.Room, error) {
	var size, pages, free int64
	for name, into := range map[string]*int64{"page_size": &size, "page_count": &pages, "freelist_count": &free} {
		if err := e.readers.QueryRowContext(ctx, "PRAGMA "+name).Scan(into); err != nil {
			return commit.Room{}, translate(err)
		}
	}
	return commit.Room{Used: (pages - free) * size, Free: free * size}, nil
}

// Backup implements [commit.Engine].
func (e *Engine) Backup(ctx context.Context, path string) error {
	pool, err := OpenPool(e.dir, "mode=ro", "cache_size(-4000)")
	if err != nil {
		return err
	}
	defer pool.Close()
	return copyInto(ctx, pool, path)
}

// copyInto writes a compact copy of the database behind q to path.
func copyInto(ctx context.Context, q interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}, path string) error {
	// SQLite alone would leave it readable to others.
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write the copy: %w", err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("write the copy: %w", err)
	}
	if _, err := q.ExecContext(ctx, "VACUUM INTO ?", path); err != nil {
		os.Remove(path)
		return fmt.Errorf("write the copy %s: %w", path, translate(err))
	}
	return nil
}

// Upkeep moves the log into the database file and releases memory. To forget, it also frees all pages
// and empties the log: deleted content must not survive in either.
func (e *Engine) Upkeep(forget bool, busy func() bool) (forgotten bool, err error) {
	if forget {
		forgotten, err = e.forgetDeleted(busy)
	} else {
		_, err = e.conn.ExecContext(context.Background(), "PRAGMA wal_checkpoint(PASSIVE)")
	}
	if err == nil { // the system caches the same pages
		_, err = e.conn.ExecContext(context.Background(), "PRAGMA shrink_memory")
	}
	return forgotten, err
}

// forgetDeleted frees all pages and empties the log, unless there is work again.
func (e *Engine) forgetDeleted(busy func() bool) (done bool, err error) {
	const slice = 256 // pages freed at a time
	for {
		free, err := e.freePages()
		if err != nil {
			return false, err
		}
		if free == 0 {
			return e.emptyLog()
		}
		if err := e.GiveBack(slice); err != nil {
			return false, err
		}
		left, err := e.freePages()
		switch {
		case err != nil:
			return false, err
		case left >= free: // the file can't shrink
			return e.emptyLog()
		case busy():
			return false, nil
		}
	}
}

func (e *Engine) freePages() (n int, err error) {
	err = e.conn.QueryRowContext(context.Background(), "PRAGMA freelist_count").Scan(&n)
	return n, err
}

// GiveBack removes at most n free pages from the file.
func (e *Engine) GiveBack(n int) error {
	rows, err := e.conn.QueryContext(context.Background(), fmt.Sprintf("PRAGMA incremental_vacuum(%d)", n))
	if err != nil {
		return err
	}
	for rows.Next() { // each step gives back one page
	}
	return errors.Join(rows.Err(), rows.Close())
}

// emptyLog moves the write-ahead log into the database file and cuts it off, unless a
// reader still needs it.
func (e *Engine) emptyLog() (done bool, err error) {
	ctx := context.Background()
	if _, err := e.conn.ExecContext(ctx, "PRAGMA busy_timeout = 0"); err != nil {
		return false, err
	}
	var busy, pages, moved int
	err = e.conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &pages, &moved)
	done = err == nil && busy == 0
	_, back := e.conn.ExecContext(ctx, "PRAGMA busy_timeout = 5000")
	if err == nil {
		err = back
	}
	return done, err
}

// Shape implements [commit.Engine].
func (e *Engine) Shape(ctx context.Context) (schema int, tables []string, err error) {
	if err := e.readers.QueryRowContext(ctx, "PRAGMA user_version").Scan(&schema); err != nil {
		return 0, nil, err
	}
	tables, err = commit.Texts(ctx, e.readers, `SELECT name FROM sqlite_master
		WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name`)
	return schema, tables, err
}

// Damage implements [commit.Engine].
func (e *Engine) Damage(ctx context.Context, tx *sql.Tx) ([]string, error) {
	found, err := commit.Texts(ctx, tx, `PRAGMA quick_check(100)`)
	return slices.DeleteFunc(found, func(s string) bool { return s == "ok" }), err
}

// Columns returns a table's stored columns: the key's, in its order, and the rest.
func (e *Engine) Columns(ctx context.Context, table string) (key, rest []string, err error) {
	key, err = commit.Texts(ctx, e.readers, `SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk`, table)
	if err != nil {
		return nil, nil, err
	}
	rest, err = commit.Texts(ctx, e.readers, `SELECT name FROM pragma_table_info(?) WHERE pk = 0 ORDER BY cid`, table)
	return key, rest, err
}

// emptyImages is the empty database of this process.
var emptyImages images

// images counts the databases that a process makes. A server makes one. Tests make hundreds: from the third on, their
// files are copies of an empty one, which takes less than carrying out the schema again.
type images struct {
	mu    sync.Mutex
	made  int
	empty []byte
}

// next returns the content of a new file, nil if the schema must create it.
func (i *images) next(ctx context.Context) ([]byte, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.made++; i.made < 3 || i.empty != nil {
		return i.empty, nil
	}
	dir, err := os.MkdirTemp("", "fawn-empty-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if i.empty, err = emptyImage(ctx, dir); err != nil {
		return nil, fmt.Errorf("make an empty database: %w", err)
	}
	return i.empty, nil
}

// emptyImage creates a database in a folder and returns its file.
func emptyImage(ctx context.Context, dir string) ([]byte, error) {
	if err := prepareFile(ctx, dir); err != nil {
		return nil, err
	}
	e, err := Open(ctx, dir, Options{Readers: 1, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	if err := e.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(dir, folder.FileName))
}
