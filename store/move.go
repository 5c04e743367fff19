package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fawn/store/commit"
	"fawn/store/folder"
	"fawn/store/postgres"
	"fawn/store/sqlite"
)

const (
	moveRows  = 500     // limit of rows per write
	moveBytes = 4 << 20 // limit of their bytes, except for the last row
)

// movedSpace holds the destination of moved rows.
const movedSpace = "moved"

// MovedError refuses a database whose rows were moved to another, so that the two don't diverge.
type MovedError struct{ To string }

// Error names the destination and the remedy.
func (e *MovedError) Error() string {
	return fmt.Sprintf("everything has been moved to %s. Set database.url accordingly", e.To)
}

// MovedTable is the number of moved rows of a table.
type MovedTable struct {
	Name string
	Rows int64
}

// Move copies everything from one kind of database to the other, one of which is an SQLite file, and compares
// the result. Nobody may use either; the target must be empty. Afterwards the source refers its users to the
// target, which it calls name. With dry, nothing is changed in the end.
func Move(ctx context.Context, from, to Config, name string, dry bool) (tables []MovedTable, err error) {
	if (from.URL == "") == (to.URL == "") {
		return nil, errors.New("move rows: from SQLite to PostgreSQL or back")
	}
	from.Timeout, to.Timeout = -1, -1 // one statement reads a table
	src, err := Open(ctx, from)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	dst, release, err := openTarget(ctx, to, src.dir)
	if err != nil {
		return nil, err
	}
	arrived := false
	defer func() { err = errors.Join(err, dst.Close(), release(arrived)) }()
	m := mover{ctx: ctx, from: src.engine, to: dst}
	if tables, err = m.all(dry); err != nil {
		return nil, fmt.Errorf("move rows: %w", err)
	}
	if arrived = !dry; arrived {
		err = src.Commit(ctx, Batch{KV: []KV{{Owner: Global, Space: movedSpace, Key: "to", Body: []byte(name)}}})
	}
	return tables, err
}

// openTarget opens the destination of a move, which may be in the folder of the source. release is called at the end;
// unless the new files are to be kept, it restores the previous state.
func openTarget(ctx context.Context, cfg Config, held string) (_ commit.Engine, release func(keep bool) error, err error) {
	if cfg.URL != "" {
		e, err := postgres.Open(ctx, cfg.postgres(""))
		return e, func(bool) error { return nil }, err
	}
	dir, err := filepath.Abs(cfg.Dir)
	if err != nil {
		return nil, nil, err
	}
	t := &fileTarget{dir: dir}
	if err := t.makeFolder(); err != nil {
		return nil, nil, fmt.Errorf("make the folder of the new database: %w", errors.Join(err, t.release(false)))
	}
	if dir != held {
		if t.unlock, err = folder.Hold(dir); err != nil {
			return nil, nil, errors.Join(err, t.release(false))
		}
	}
	err = t.putAside(ctx, cfg)
	var e *sqlite.Engine
	if err == nil {
		err = sqlite.NewFile(ctx, dir)
	}
	if err == nil {
		e, err = sqlite.Open(ctx, dir, cfg.sqlite())
	}
	if err != nil {
		return nil, nil, errors.Join(err, t.release(false))
	}
	return e, t.release, nil
}

// fileTarget is the file that rows are moved to.
type fileTarget struct {
	dir    string
	made   []string // created folders, outermost first
	fresh  bool     // there was no database before
	aside  string   // new name of the previous database
	unlock func() error
}

// makeFolder creates the folder and remembers which parents were missing.
func (t *fileTarget) makeFolder() error {
	for at := t.dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(at); !errors.Is(err, fs.ErrNotExist) || at == filepath.Dir(at) {
			break
		}
		t.made = slices.Insert(t.made, 0, at)
	}
	return os.MkdirAll(t.dir, 0o700)
}

// putAside renames the file that an earlier move left in the folder, to make room for the rows that return to
// it.
func (t *fileTarget) putAside(ctx context.Context, cfg Config) error {
	path := filepath.Join(t.dir, FileName)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		t.fresh = true
		return nil
	}
	e, err := sqlite.Open(ctx, t.dir, cfg.sqlite())
	if err != nil {
		return err
	}
	left := moved(ctx, e)
	if err := e.Close(); err != nil {
		return err
	}
	if _, ok := errors.AsType[*MovedError](left); !ok {
		return left // the tables show whether it is empty
	}
	aside := filepath.Join(t.dir, "fawn-moved-"+time.Now().UTC().Format("20060102T150405.000")+".db")
	if err := os.Rename(path, aside); err != nil {
		return err
	}
	t.fresh, t.aside = true, aside
	return nil
}

// release ends the hold on the folder. Unless the new file is to be kept, the folder is left as it was.
func (t *fileTarget) release(keep bool) (err error) {
	if !keep && t.fresh {
		for _, end := range []string{"", "-wal", "-shm"} {
			if e := os.Remove(filepath.Join(t.dir, FileName+end)); !errors.Is(e, fs.ErrNotExist) {
				err = errors.Join(err, e)
			}
		}
		if t.aside != "" {
			err = errors.Join(err, os.Rename(t.aside, filepath.Join(t.dir, FileName)))
		}
	}
	if t.unlock != nil {
		err = errors.Join(err, t.unlock())
	}
	if keep || len(t.made) == 0 {
		return err
	}
	for _, name := range []string{"lock", "reserve"} {
		_ = os.Remove(filepath.Join(t.dir, name)) // otherwise the folder stays, with a note about it
	}
	for _, folder := range slices.Backward(t.made) {
		if e := os.Remove(folder); !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// mover copies rows. The target's connection that writes is its own.
type mover struct {
	ctx      context.Context
	from, to commit.Engine
}

// movable is a table with its columns: those of the key first, in the key's order.
type movable struct {
	name    string
	columns []string
	keys    int
}

func (m *mover) all(dry bool) (moved []MovedTable, err error) {
	tables, err := m.tables()
	if err != nil {
		return nil, err
	}
	if err := m.to.Run([]stmt{{What: "begin", Of: "move", SQL: "BEGIN"}}); err != nil {
		return nil, err
	}
	if e, ok := m.to.(*postgres.Engine); ok {
		if err := e.PrepareMove(); err != nil {
			return nil, errors.Join(err, m.to.Run([]stmt{{What: "end", Of: "move", SQL: "ROLLBACK"}}))
		}
	}
	end := "ROLLBACK"
	defer func() { err = errors.Join(err, m.to.Run([]stmt{{What: "end", Of: "move", SQL: end}})) }()
	for _, t := range tables {
		n, err := m.table(t)
		if err != nil {
			return nil, fmt.Errorf("table %s: %w", t.name, err)
		}
		moved = append(moved, MovedTable{t.name, n})
	}
	if err := m.index(); err != nil {
		return nil, fmt.Errorf("index passages: %w", err)
	}
	if err := m.number(tables); err != nil {
		return nil, err
	}
	if !dry {
		end = "COMMIT"
	}
	return moved, nil
}

// file returns the SQLite database of the two, whose columns are used for both.
func (m *mover) file() *sqlite.Engine {
	if e, ok := m.from.(*sqlite.Engine); ok {
		return e
	}
	return m.to.(*sqlite.Engine)
}

func (m *mover) tables() (list []movable, err error) {
	file := m.file()
	_, names, err := file.Shape(m.ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if strings.HasPrefix(name, "sqlite_") || strings.HasPrefix(name, "passage_word") {
			continue
		}
		t := movable{name: name}
		key, rest, err := file.Columns(m.ctx, name)
		if err != nil {
			return nil, err
		}
		t.columns, t.keys = append(key, rest...), len(key)
		for i := range t.columns {
			t.columns[i] = `"` + t.columns[i] + `"`
		}
		list = append(list, t)
	}
	return list, nil
}

// read selects all rows in the order of their keys, which is the same in both.
func (t movable) read() string {
	return `SELECT ` + strings.Join(t.columns, ", ") + ` FROM "` + t.name + `" ORDER BY ` +
		strings.Join(t.columns[:t.keys], ", ")
}

func (t movable) write() string {
	return `INSERT INTO "` + t.name + `"(` + strings.Join(t.columns, ", ") + `) VALUES (?` +
		strings.Repeat(", ?", len(t.columns)-1) + `)`
}

// table copies a table and reads the copy again.
func (m *mover) table(t movable) (rows int64, err error) {
	there, err := m.to.Stmt(`SELECT count(*) FROM "` + t.name + `"`)
	if err != nil {
		return 0, err
	}
	if err := there.QueryRowContext(m.ctx).Scan(&rows); err != nil {
		return 0, err
	}
	if rows > 0 {
		return 0, fmt.Errorf("the target has %d rows already, and must be empty: choose another one", rows)
	}
	w := moveWriter{to: m.to, query: t.write(), name: t.name}
	sent, err := m.digest(m.from, t, w.add)
	if err == nil {
		err = w.flush()
	}
	if err != nil {
		return 0, err
	}
	arrived, err := m.digest(m.to, t, nil)
	if err != nil {
		return 0, err
	}
	if sent.rows != arrived.rows || !bytes.Equal(sent.sum.Sum(nil), arrived.sum.Sum(nil)) {
		return 0, fmt.Errorf("%d rows were sent and %d arrived, or their contents differ", sent.rows, arrived.rows)
	}
	return sent.rows, nil
}

// digest computes a digest of a table. Text is in the form that all databases accept.
func (m *mover) digest(e commit.Engine, t movable, each func([]any) error) (digest, error) {
	d := digest{sum: sha256.New()}
	var rows *sql.Rows
	var err error
	if e == m.to { // in its transaction
		var s *sql.Stmt
		if s, err = e.Stmt(t.read()); err == nil {
			rows, err = s.QueryContext(m.ctx)
		}
	} else {
		rows, err = e.Reads().QueryContext(m.ctx, t.read())
	}
	if err != nil {
		return d, err
	}
	defer rows.Close()
	for rows.Next() {
		values, into := make([]any, len(t.columns)), make([]any, len(t.columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return d, err
		}
		cleanAll(values)
		if err := d.add(values); err != nil {
			return d, err
		}
		if each != nil {
			if err := each(values); err != nil {
				return d, err
			}
		}
	}
	return d, rows.Err()
}

// digest is the number of a table's rows and the sum of their contents.
type digest struct {
	rows int64
	sum  hash.Hash
}

func (d *digest) add(values []any) error {
	d.rows++
	for _, v := range values {
		var kind byte
		var body []byte
		switch v := v.(type) {
		case nil:
		case int64:
			kind, body = 'i', binary.AppendVarint(nil, v)
		case float64:
			kind, body = 'f', binary.AppendUvarint(nil, math.Float64bits(v))
		case string:
			kind, body = 't', []byte(v)
		case []byte:
			kind, body = 'b', v
		default:
			return fmt.Errorf("a value of type %T", v)
		}
		d.sum.Write(append(binary.AppendUvarint([]byte{kind}, uint64(len(body))), body...))
	}
	return nil
}

// moveWriter writes rows, many at once.
type moveWriter struct {
	to          commit.Engine
	query, name string
	list        []stmt
	bytes       int
}

func (w *moveWriter) add(values []any) error {
	w.list = append(w.list, stmt{What: "write", Of: w.name, SQL: w.query, Args: values})
	for _, v := range values {
		switch v := v.(type) {
		case string:
			w.bytes += len(v)
		case []byte:
			w.bytes += len(v)
		}
	}
	if len(w.list) < moveRows && w.bytes < moveBytes {
		return nil
	}
	return w.flush()
}

func (w *moveWriter) flush() error {
	err := w.to.Run(w.list)
	w.list, w.bytes = w.list[:0], 0
	return err
}

// index rebuilds the index of passages, whose form differs.
func (m *mover) index() error {
	w := moveWriter{to: m.to, name: "passage_word",
		query: `INSERT INTO passage_word(rowid, words) VALUES (?, {words}?{words end})`}
	rows, err := m.from.Reads().QueryContext(m.ctx, `SELECT id, thread, heading, body FROM passage ORDER BY id`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		var thread, heading, body string
		if err := rows.Scan(&id, &thread, &heading, &body); err != nil {
			return err
		}
		if err := w.add([]any{id, clean(indexed(scope(thread), heading+"\n"+body))}); err != nil {
			return err
		}
	}
	return errors.Join(rows.Err(), w.flush())
}

// number advances PostgreSQL's sequences past existing numbers.
func (m *mover) number(tables []movable) error {
	to, ok := m.to.(*postgres.Engine)
	if !ok {
		return nil
	}
	for _, t := range tables {
		key := strings.Trim(t.columns[0], `"`)
		if !slices.Contains([]string{"audit", "spending", "passage", "knowledge_doc", "fact", "channel_in"}, t.name) {
			continue
		}
		if err := to.AdvanceSequence(t.name, key); err != nil {
			return fmt.Errorf("number rows of %s: %w", t.name, err)
		}
	}
	return nil
}
