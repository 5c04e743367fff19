package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strconv"
	"time"
)

// migrationNames matches the migrations of one kind of database, in their order.
const migrationNames = "sqlite/*.sql"

// wholeSchema is the result of all migrations. A new database starts from it, which is several times faster than
// running them one by one. Its first line is the number of the last migration that it includes.
const wholeSchema = "sqlite.sql"

// VersionError means that a newer program wrote the database file.
type VersionError struct {
	File   int // schema version of the file
	Binary int // newest schema version supported by this program
	Dir    string
	Copy   string // copy made before a migration and usable by this program; "" for none
}

// Error names both versions, and how to go back.
func (e *VersionError) Error() string {
	back := "restore a backup that an older program made: fawn restore FILE --force"
	if e.Copy != "" {
		back = fmt.Sprintf("go back to the copy from before the update, without what was written since: "+
			"fawn restore %s --data %s --force", e.Copy, e.Dir)
	}
	return fmt.Sprintf("the database has schema version %d, written by a newer program, and this one knows only up "+
		"to %d. Use the newer program, or %s", e.File, e.Binary, back)
}

// Migrate brings the schema to the newest version of files, which are named
// sqlite/NNNN_name.sql and numbered from 0001 without gaps, in one transaction. A
// database with content is copied next to itself first.
func Migrate(ctx context.Context, conn *sql.Conn, files fs.FS, dir string, now time.Time) error {
	names, err := fs.Glob(files, migrationNames) // sorted
	if err != nil {
		return err
	}
	for i, name := range names {
		base := path.Base(name)
		if n, err := strconv.Atoi(base[:min(4, len(base))]); err != nil || n != i+1 {
			return fmt.Errorf("migration %s: number %d expected", name, i+1)
		}
	}
	var have int
	if err := conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&have); err != nil {
		return translate(err)
	}
	switch {
	case have == len(names):
		return nil
	case have > len(names):
		return &VersionError{File: have, Binary: len(names), Dir: dir, Copy: olderCopy(dir, len(names))}
	case have > 0:
		name := fmt.Sprintf("fawn-v%d-%s.db", have, now.UTC().Format("20060102T150405.000"))
		if err := copyInto(ctx, conn, filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("copy before migration: %w", err)
		}
	}
	steps := names[have:]
	if have == 0 && wholeVersion(files) == len(names) {
		steps = []string{wholeSchema}
	}
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return translate(err)
	}
	defer tx.Rollback()
	for _, name := range steps {
		script, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, string(script)); err != nil {
			return fmt.Errorf("migration %s: %w", name, translate(err))
		}
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", len(names))); err != nil {
		return translate(err)
	}
	return translate(tx.Commit())
}

// wholeVersion returns the number of the last migration in the whole schema, 0 if there is none.
func wholeVersion(files fs.FS) int {
	schema, _ := fs.ReadFile(files, wholeSchema)
	line, _, _ := bytes.Cut(schema, []byte("\n"))
	n, _ := strconv.Atoi(string(bytes.TrimPrefix(line, []byte("-- "))))
	return n
}
