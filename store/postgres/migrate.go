package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

const (
	migrationNames = "postgres/*.sql"
	// additiveMark is the first line of a migration that older programs tolerate: it only adds tables, or columns with
	// a default.
	additiveMark = "-- additive\n"
	migrateWait  = 2 * time.Second // a migration's limit of waiting for users of a table; meanwhile others queue after it
)

// SchemaError means that the program and the database's tables don't match.
type SchemaError struct {
	Schema   string
	Tables   int // version of the tables
	Least    int // oldest version whose programs can use them
	Binary   int // newest version supported by this program
	InTheWay *Node
}

// Error names both versions and the remedy.
func (e *SchemaError) Error() string {
	switch {
	case e.InTheWay != nil:
		return fmt.Sprintf("the tables (schema %s) have version %d, and those of this program have %d, which %v could not "+
			"use. Stop it first", e.Schema, e.Tables, e.Binary, e.InTheWay)
	case e.Tables > e.Binary:
		return fmt.Sprintf("the tables (schema %s) have version %d, written by a newer program; programs of version %d or "+
			"newer can use them, and this one has %d. Use the newer program", e.Schema, e.Tables, e.Least, e.Binary)
	}
	return fmt.Sprintf("the tables (schema %s) have version %d, and this program needs %d. As database.migrate is off, "+
		"say so: fawn migrate", e.Schema, e.Tables, e.Binary)
}

// schema is the migrations of a program and the schema they lead to.
type schema struct {
	files fs.FS
	names []string // sorted
}

func readMigrations(files fs.FS) (m schema, err error) {
	m.files = files
	m.names, err = fs.Glob(files, migrationNames)
	return m, err
}

// newest returns the newest schema version supported by the program.
func (m schema) newest() int { return m.number(len(m.names) - 1) }

func (m schema) number(i int) int {
	n, _ := strconv.Atoi(path.Base(m.names[i])[:4]) // a test checks all names
	return n
}

// least returns the oldest schema version whose programs can use the tables after the given migrations.
func (m schema) least(have, before int) (int, error) {
	for i, name := range m.names {
		if m.number(i) <= have {
			continue
		}
		script, err := fs.ReadFile(m.files, name)
		if err != nil {
			return 0, err
		}
		if !strings.HasPrefix(string(script), additiveMark) {
			before = m.number(i)
		}
	}
	return before, nil
}

// tables returns the schema version of a database, and the oldest program version that can use it.
func (e *Engine) tables(ctx context.Context) (have, least int, err error) {
	var there bool
	if err := e.raw.QueryRow(ctx, `SELECT to_regclass('migration') IS NOT NULL`).Scan(&there); err != nil || !there {
		return 0, 0, err
	}
	err = e.raw.QueryRow(ctx, `SELECT coalesce(max(number), 0),
		coalesce(max(coalesce((to_jsonb(migration) ->> 'least')::bigint, number)), 0) FROM migration`).Scan(&have, &least)
	return have, least, translate(err)
}

// outdated finds live servers that couldn't use the tables after this program's migrations.
func (e *Engine) outdated(ctx context.Context, others []Node) error {
	have, least, err := e.tables(ctx)
	if err == nil {
		least, err = e.known.least(have, least)
	}
	if err != nil || have >= e.known.newest() {
		return err
	}
	for _, n := range others {
		if n.schema < least {
			return &SchemaError{Schema: e.schema, Tables: have, Binary: e.known.newest(), InTheWay: &n}
		}
	}
	return nil
}

// migrate brings the schema to the newest version, each file in one transaction, unless hands off.
func (e *Engine) migrate(ctx context.Context, hands bool) error {
	have, least, err := e.tables(ctx)
	if err != nil {
		return fmt.Errorf("prepare schema %s: %w", e.schema, err)
	}
	newest := e.known.newest()
	switch {
	case have > newest && least > newest:
		return &SchemaError{Schema: e.schema, Tables: have, Least: least, Binary: newest}
	case have > newest:
		e.log.Info("schema is newer than this program, but compatible", "tables", have, "program", newest)
		return nil
	case have < newest && hands:
		return &SchemaError{Schema: e.schema, Tables: have, Binary: newest}
	case have == newest:
		return nil
	}
	var there bool
	err = e.raw.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = $1)`, e.schema).Scan(&there)
	if err == nil && !there {
		_, err = e.raw.Exec(ctx, "CREATE SCHEMA "+quoteName(e.schema))
	}
	if err == nil {
		_, err = e.raw.Exec(ctx, `CREATE TABLE IF NOT EXISTS migration (number bigint PRIMARY KEY, at bigint NOT NULL)`)
	}
	if err != nil {
		return fmt.Errorf("prepare schema %s: %w", e.schema, translate(err))
	}
	for i, name := range e.known.names {
		number := e.known.number(i)
		if number <= have {
			continue
		}
		if err := e.migrateOne(ctx, name, number, &least); err != nil {
			return fmt.Errorf("migration %s: %w", name, err)
		}
		e.log.Debug("schema migrated", "migration", name)
	}
	return nil
}

// migrateOne waits only briefly for users of a table, because everybody later waits after it, and retries.
func (e *Engine) migrateOne(ctx context.Context, name string, number int, least *int) error {
	script, err := fs.ReadFile(e.known.files, name)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(string(script), additiveMark) {
		*least = number
	}
	whole := fmt.Sprintf("BEGIN;\nSET LOCAL statement_timeout = 0;\nSET LOCAL lock_timeout = %d;\n%s;\n"+
		"INSERT INTO migration(number, at) VALUES (%d, %d);\n"+
		"DO $$BEGIN IF EXISTS (SELECT 1 FROM pg_attribute WHERE attrelid = 'migration'::regclass AND attname = 'least')\n"+
		"THEN UPDATE migration SET least = %d WHERE number = %d; END IF; END$$;\nCOMMIT",
		migrateWait.Milliseconds(), script, number, time.Now().UnixMilli(), *least, number)
	for began := time.Now(); ; {
		_, err = e.raw.PgConn().Exec(ctx, whole).ReadAll()
		if err != nil && !e.raw.IsClosed() {
			err = errors.Join(err, e.exec("ROLLBACK"))
		}
		pg, ok := errors.AsType[*pgconn.PgError](err)
		if !ok || pg.Code != codeLocked || time.Since(began) > statementTime {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pgPause):
		}
	}
}

// MigrateTables migrates the tables of cfg.URL and does nothing else. Incompatible servers must be stopped first. It
// returns the old and the new version.
func MigrateTables(ctx context.Context, cfg Config) (from, to int, err error) {
	e, err := dial(ctx, cfg)
	if err != nil {
		return 0, 0, err
	}
	defer func() {
		e.drop()
		err = errors.Join(err, e.pool.Close())
	}()
	if err := e.lockStart(ctx, true); err != nil {
		return 0, 0, err
	}
	others, err := e.clear(ctx, "")
	for _, n := range others {
		if err == nil && !n.cluster {
			err = &TakenError{Schema: e.schema, Node: n}
		}
	}
	if from, _, err = e.versions(ctx, err); err == nil {
		err = e.outdated(ctx, others)
	}
	if err == nil {
		err = e.migrate(ctx, false)
	}
	to, _, err = e.versions(ctx, err)
	return from, to, cmp.Or(err, e.endTurn(ctx))
}

// versions returns the versions of tables unless an earlier error is set.
func (e *Engine) versions(ctx context.Context, before error) (have, least int, err error) {
	if before != nil {
		return 0, 0, before
	}
	return e.tables(ctx)
}
