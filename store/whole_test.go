package store_test

import (
	"database/sql"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/store"
)

var update = flag.Bool("update", false, "write migrations/sqlite.sql")

// TestTheWholeSchemaIsWhatMigrationsMake: new databases begin as old ones have become.
func TestTheWholeSchemaIsWhatMigrationsMake(t *testing.T) {
	old := t.TempDir()
	must.Do(t, store.MadeBy(t.Context(), old, store.Schema(), ""))
	want := script(t, old)
	const path = "migrations/sqlite.sql"
	if *update {
		head := fmt.Sprintf("-- %d\n-- What the migrations make: go test ./store -run %s -update\n",
			store.Schema(), t.Name())
		must.Do(t, os.WriteFile(path, []byte(head+want), 0o644))
		return
	}
	has := must.Get(os.ReadFile(path))(t)
	if !strings.HasPrefix(string(has), fmt.Sprintf("-- %d\n", store.Schema())) || !strings.HasSuffix(string(has), "\n"+want) {
		t.Errorf("%s is stale: go test ./store -run %s -update", path, t.Name())
	}
	for range 4 { // from the third on, databases of a process are copies
		fresh := t.TempDir()
		db := must.Get(store.Open(t.Context(), store.Config{Dir: fresh, Log: slog.New(slog.DiscardHandler)}))(t)
		must.Do(t, db.Close())
		if has := script(t, fresh); has != want {
			t.Errorf("a new database has\n%s\nwant\n%s", has, want)
		}
		if has, want := rows(t, fresh), rows(t, old); has != want {
			t.Errorf("a new database has the rows\n%s\nwant\n%s", has, want)
		}
	}
}

// script makes an empty database into the one in dir: its tables, indexes and triggers, the settings of its virtual
// tables, and its rows.
func script(t *testing.T, dir string) string {
	t.Helper()
	db := raw(t, dir)
	var b strings.Builder
	// Shadow tables come with what they belong to.
	const shadows = `SELECT name FROM pragma_table_list WHERE type = 'shadow' OR name LIKE 'sqlite\_%' ESCAPE '\'`
	for _, s := range column(t, db, `SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL
		AND tbl_name NOT IN (`+shadows+`) ORDER BY type = 'trigger', rowid`) {
		b.WriteString(s + ";\n")
	}
	for _, table := range column(t, db, `SELECT name FROM pragma_table_list WHERE type = 'virtual'`) {
		for _, set := range column(t, db, `SELECT quote(k) || ', ' || quote(v) FROM "`+table+`_config"
			WHERE k <> 'version'`) {
			fmt.Fprintf(&b, "INSERT INTO %s (%s, rank) VALUES (%s);\n", table, table, set)
		}
	}
	for _, table := range column(t, db, `SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'
		AND name NOT IN (`+shadows+`)`) {
		for _, row := range contents(t, db, table) {
			fmt.Fprintf(&b, "INSERT INTO %s VALUES (%s);\n", table, row)
		}
	}
	return b.String()
}

// rows are those of all tables of the database in dir, also of the hidden ones.
func rows(t *testing.T, dir string) string {
	t.Helper()
	db := raw(t, dir)
	var b strings.Builder
	for _, table := range column(t, db, `SELECT name FROM pragma_table_list WHERE schema = 'main'
		AND type IN ('table', 'shadow') AND name <> 'sqlite_schema' ORDER BY name`) {
		for _, row := range contents(t, db, table) {
			fmt.Fprintf(&b, "%s: %s\n", table, row)
		}
	}
	return b.String()
}

func raw(t *testing.T, dir string) *sql.DB {
	t.Helper()
	db := must.Get(sql.Open("sqlite", filepath.Join(dir, "fawn.db")))(t)
	t.Cleanup(func() { db.Close() })
	return db
}

// contents are a table's rows, as SQL writes their values.
func contents(t *testing.T, db *sql.DB, table string) []string {
	t.Helper()
	var values []string
	for _, c := range column(t, db, `SELECT name FROM pragma_table_info(?)`, table) {
		values = append(values, `quote("`+c+`")`)
	}
	return column(t, db, `SELECT `+strings.Join(values, ` || ', ' || `)+` FROM "`+table+`"`)
}

func column(t *testing.T, db *sql.DB, query string, args ...any) (all []string) {
	t.Helper()
	rows := must.Get(db.QueryContext(t.Context(), query, args...))(t)
	defer rows.Close()
	for rows.Next() {
		var s string
		must.Do(t, rows.Scan(&s))
		all = append(all, s)
	}
	must.Do(t, rows.Err())
	return all
}
