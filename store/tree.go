package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"
)

// Tree is a version of a thread's files: the changes since its parent, or all files. Its writer defines the body; the
// contents are objects of another store.
type Tree struct {
	Version, Parent int64 // Parent 0 is none
	Whole           bool  // Body is complete
	Body            []byte
	Objects         []string // objects referenced by Body
}

// NoTree is the version at checkpoints of threads without files. 0 means unknown.
const NoTree int64 = -1

// TreeVersion returns the newest version of a thread's files, 0 for none. The thread need not exist yet.
func (db *DB) TreeVersion(ctx context.Context, thread string) (v int64, err error) {
	err = db.queryRow(ctx, `SELECT coalesce(max(version), 0) FROM tree WHERE thread = ?`, []any{thread}, &v)
	if err != nil {
		return 0, fmt.Errorf("files of thread %s: %w", thread, err)
	}
	return v, nil
}

// Trees returns the parts of a version of a thread's files, a whole one first and without Objects. ErrNotFound if the
// version doesn't exist.
func (db *DB) Trees(ctx context.Context, thread string, version int64) ([]Tree, error) {
	list, err := rowsOf(ctx, db, `SELECT version, parent, whole, body FROM tree WHERE thread = ?1 AND version <= ?2 AND version >=
		(SELECT max(version) FROM tree WHERE thread = ?1 AND version <= ?2 AND whole = 1) ORDER BY version`,
		[]any{thread, version}, func(rows scanner) (t Tree, err error) {
			err = rows.Scan(&t.Version, &t.Parent, &t.Whole, &t.Body)
			return t, err
		})
	if err == nil && (len(list) == 0 || list[len(list)-1].Version != version) {
		err = ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("version %d of the files of thread %s: %w", version, thread, err)
	}
	return list, nil
}

// PutTree adds a version and returns its number, which is new among all threads. ErrConflict if its parent is no
// longer the newest, ErrNotFound if an object is gone.
func (db *DB) PutTree(ctx context.Context, thread string, t Tree) (int64, error) {
	now := db.Now()
	t.Version = max(t.Parent+1, now.UnixMicro())
	whole := 0
	if t.Whole {
		whole = 1
	}
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		n, err := w.change(`INSERT INTO tree(thread, version, parent, whole, body) SELECT ?1, ?2, ?3, ?4, ?5
			WHERE ?3 = (SELECT coalesce(max(version), 0) FROM tree WHERE thread = ?1)`,
			thread, t.Version, t.Parent, whole, blob(t.Body))
		if err == nil && n == 0 {
			err = ErrConflict
		}
		for _, name := range t.Objects {
			if err != nil {
				return err
			}
			n, err = w.change(`UPDATE object SET at = ? WHERE name = ? AND gone = 0`, now.UnixMilli(), name)
			if err == nil && n == 0 {
				return fmt.Errorf("object %s: %w", name, ErrNotFound)
			}
			if err == nil {
				err = w.exec(`INSERT INTO object_use(object, thread, version) VALUES (?, ?, ?)`, name, thread,
					t.Version)
			}
		}
		return err
	}})
	if err != nil {
		return 0, fmt.Errorf("add a version of the files of thread %s: %w", thread, err)
	}
	return t.Version, nil
}

// CopyTrees copies all versions of another thread up to a given one to a thread without files, under their numbers.
func (db *DB) CopyTrees(ctx context.Context, from, to string, version int64) error {
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		err := w.exec(`INSERT INTO object_use(object, thread, version) SELECT object, ?1, version FROM object_use
			WHERE thread = ?2 AND version <= ?3`, to, from, version)
		if err != nil {
			return err
		}
		return w.changeOr(ErrNotFound, `INSERT INTO tree(thread, version, parent, whole, body)
			SELECT ?1, version, parent, whole, body FROM tree WHERE thread = ?2 AND version <= ?3`, to, from, version)
	}})
	if err != nil {
		return fmt.Errorf("copy the files of thread %s: %w", from, err)
	}
	return nil
}

// DropTrees removes all versions of the files of a thread.
func (db *DB) DropTrees(ctx context.Context, thread string) error {
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		if err := w.exec(`DELETE FROM object_use WHERE thread = ?`, thread); err != nil {
			return err
		}
		return w.exec(`DELETE FROM tree WHERE thread = ?`, thread)
	}})
	if err != nil {
		return fmt.Errorf("drop the versions of the files of thread %s: %w", thread, err)
	}
	return nil
}

// PutObjects records objects about to be stored.
func (db *DB) PutObjects(ctx context.Context, names []string) error {
	now := db.Now().UnixMilli()
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		for _, name := range names {
			if err := w.exec(`INSERT INTO object(name, at) VALUES (?, ?)`, name, now); err != nil {
				return err
			}
		}
		return nil
	}})
	if err != nil {
		return fmt.Errorf("note objects: %w", err)
	}
	return nil
}

// SpareObjects marks unreferenced objects, stored or referenced last before a moment, as being removed, and returns
// some of the marked ones.
func (db *DB) SpareObjects(ctx context.Context, before time.Time, limit int) (names []string, err error) {
	err = db.w.do(ctx, &job{apply: func(w *writer) error {
		return w.exec(`UPDATE object SET gone = 1 WHERE gone = 0 AND at < ?1 AND name IN (SELECT name FROM object o
			WHERE o.gone = 0 AND o.at < ?1 AND NOT EXISTS (SELECT 1 FROM object_use u WHERE u.object = o.name)
			ORDER BY o.at LIMIT ?2)`, before.UnixMilli(), limit)
	}})
	if err == nil {
		names, err = rowsOf(ctx, db, `SELECT name FROM object WHERE gone = 1 ORDER BY at LIMIT ?`, []any{limit},
			func(rows scanner) (name string, err error) {
				err = rows.Scan(&name)
				return name, err
			})
	}
	if err != nil {
		return nil, fmt.Errorf("look for objects that nothing names: %w", err)
	}
	return names, nil
}

// UsedObject is an object used by versions of files, with one of their threads.
type UsedObject struct {
	Name, Thread string
	Known        bool // it has a row that isn't marked for removal
}

// UsedObjects lists the objects that versions name, by name and after one.
func (db *DB) UsedObjects(ctx context.Context, behind string, limit int) (list []UsedObject, err error) {
	list, err = rowsOf(ctx, db, `SELECT u.object, min(u.thread), EXISTS (SELECT 1 FROM object o WHERE o.name = u.object
		AND o.gone = 0) FROM object_use u WHERE u.object > ? GROUP BY u.object ORDER BY u.object LIMIT ?`,
		[]any{behind, limit}, func(rows scanner) (o UsedObject, err error) {
			err = rows.Scan(&o.Name, &o.Thread, &o.Known)
			return o, err
		})
	if err != nil {
		return nil, fmt.Errorf("list objects: %w", err)
	}
	return list, nil
}

// DropObject deletes the row of a removed object.
func (db *DB) DropObject(ctx context.Context, name string) error {
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		return w.exec(`DELETE FROM object WHERE name = ? AND gone = 1`, name)
	}})
	if err != nil {
		return fmt.Errorf("forget object %s: %w", name, err)
	}
	return nil
}

// Children returns the checkpoints of the root namespace directly after one of parents, by parent, oldest first.
func (db *DB) Children(ctx context.Context, thread string, parents []string) (map[string][]Checkpoint, error) {
	list, err := json.Marshal(parents)
	if err != nil {
		return nil, err
	}
	out := map[string][]Checkpoint{}
	query := `SELECT ` + checkpointColumns + ` FROM checkpoint c WHERE c.thread = ? AND c.ns = ''
		AND c.parent IN {list} ORDER BY c.id`
	err = db.each(ctx, query, []any{thread, string(list)}, func(rows *sql.Rows) (bool, error) {
		c, err := scanCheckpoint(rows)
		if err != nil {
			return false, err
		}
		out[c.Parent] = append(out[c.Parent], c)
		return true, nil
	})
	if err != nil {
		return nil, fmt.Errorf("list checkpoints of thread %s: %w", thread, err)
	}
	return out, nil
}

// Tip returns the newest checkpoint of the root namespace that descends from one: the thread's last state on that
// branch. ErrNotFound if there is none.
func (db *DB) Tip(ctx context.Context, thread, checkpoint string) (string, error) {
	tip, below := "", map[string]bool{}
	// Ids sort by age and a child is younger than its parent, so one pass finds all.
	query := `SELECT id, parent FROM checkpoint WHERE thread = ? AND ns = '' AND id >= ? ORDER BY id`
	err := db.each(ctx, query, []any{thread, checkpoint}, func(rows *sql.Rows) (bool, error) {
		var id, parent string
		if err := rows.Scan(&id, &parent); err != nil {
			return false, err
		}
		if id == checkpoint || below[parent] {
			tip, below[id] = id, true
		}
		return true, nil
	})
	if err == nil && tip == "" {
		err = ErrNotFound
	}
	if err != nil {
		return "", fmt.Errorf("read checkpoint %s of thread %s: %w", checkpoint, thread, err)
	}
	return tip, nil
}
