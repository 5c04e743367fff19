package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"fawn/store/folder"
	"fawn/store/migrations"
)

// Schema returns the newest schema version supported by this program.
func Schema() int {
	names, err := fs.Glob(migrations.SQLite, migrationNames)
	if err != nil {
		return 0 // the pattern is a constant
	}
	return len(names)
}

// Copy writes a consistent, compact copy of the database of a data folder to path, which must not exist. It doesn't
// need the folder's lock: a server may continue writing to it.
func Copy(ctx context.Context, dir, path string) error {
	if _, err := os.Stat(filepath.Join(dir, folder.FileName)); err != nil {
		return fmt.Errorf("copy database: %w", err)
	}
	// Without a server, the log must be created or reused. SQLite itself only reads a file that it may not write.
	pool, err := OpenPool(dir, "mode=rw", "cache_size(-4000)")
	if err != nil {
		return fmt.Errorf("copy database: %w", err)
	}
	return errors.Join(copyInto(ctx, pool, path), pool.Close())
}

// Copied describes the contents of a copy of a database.
type Copied struct {
	Schema  int
	Threads int
	Problem string // problem that SQLite found in the file, "" for none
	pool    *sql.DB
}

// OpenCopied opens a copy of a database for reading. The caller closes it.
func OpenCopied(ctx context.Context, path string) (_ *Copied, err error) {
	dir, name := filepath.Split(path)
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	pool, err := openFile(filepath.Join(dir, name), "mode=ro", "immutable=1", "query_only(1)", "cache_size(-4000)")
	if err != nil {
		return nil, err
	}
	c := &Copied{pool: pool}
	row := func(query string, into any) {
		if err == nil {
			err = translate(pool.QueryRowContext(ctx, query).Scan(into))
		}
	}
	row("PRAGMA quick_check(1)", &c.Problem)
	row("PRAGMA user_version", &c.Schema)
	row("SELECT count(*) FROM thread", &c.Threads)
	if c.Problem == "ok" {
		c.Problem = ""
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read %s: %w", path, err), pool.Close())
	}
	return c, nil
}

// Has reports whether a thread is in the copy.
func (c *Copied) Has(ctx context.Context, thread string) (bool, error) {
	var n int
	err := c.pool.QueryRowContext(ctx, `SELECT count(*) FROM thread WHERE id = ?`, thread).Scan(&n)
	return n > 0, translate(err)
}

// Close closes the file.
func (c *Copied) Close() error { return c.pool.Close() }

// olderCopy returns the newest copy in a data folder readable by a program with an older schema, "" if there is none.
// Migrations create them, named after their schema.
func olderCopy(dir string, schema int) string {
	best, at := "", 0
	copies, err := filepath.Glob(filepath.Join(dir, "fawn-v*.db"))
	if err != nil {
		return ""
	}
	for _, path := range copies { // sorted: within a schema, the newest is last
		n := 0
		_, err := fmt.Sscanf(strings.TrimPrefix(filepath.Base(path), "fawn-v"), "%d-", &n)
		if err == nil && n <= schema && n >= at {
			best, at = path, n
		}
	}
	return best
}
