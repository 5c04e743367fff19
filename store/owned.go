package store

import (
	"context"
	"fmt"
)

// Owned counts an owner's rows.
type Owned struct {
	Threads int // including those in the trash
	Crons   int
	Facts   int // including those of their projects
	// Projects go with their owner, the chats of others in them don't.
	Projects int
	// Collections of documents go with their owner.
	Collections int
}

// Owned counts the rows of an owner.
func (db *DB) Owned(ctx context.Context, owner string) (o Owned, err error) {
	err = db.queryRow(ctx, `SELECT (SELECT count(*) FROM thread WHERE owner = ?1), (SELECT count(*) FROM cron WHERE owner = ?1),
		(SELECT count(*) FROM fact WHERE owner = ?1 OR substr(owner, 1, length(?1) + 1) = ?1 || '/'),
		(SELECT count(*) FROM project WHERE owner = ?1), (SELECT count(*) FROM knowledge WHERE owner = ?1)`, []any{owner},
		&o.Threads, &o.Crons, &o.Facts, &o.Projects, &o.Collections)
	if err != nil {
		return Owned{}, fmt.Errorf("count rows of %s: %w", owner, err)
	}
	return o, nil
}

// ThreadsOf returns all threads of an owner, including those in the trash.
func (db *DB) ThreadsOf(ctx context.Context, owner string) (ids []string, err error) {
	ids, err = rowsOf(ctx, db, `SELECT id FROM thread WHERE owner = ?`, []any{owner},
		func(rows scanner) (id string, err error) {
			err = rows.Scan(&id)
			return id, err
		})
	if err != nil {
		return nil, fmt.Errorf("list the threads of %s: %w", owner, err)
	}
	return ids, nil
}

// RemoveOwned deletes and overwrites all rows of an owner but its threads, which have files, too,
// and its account.
func (db *DB) RemoveOwned(ctx context.Context, owner string) error {
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		w.FreesMuch()
		return w.overwriting(func() error { return w.removeOwned(owner) })
	}})
	if err != nil {
		return fmt.Errorf("delete rows of %s: %w", owner, err)
	}
	return nil
}

func (w *writer) removeOwned(owner string) error {
	for _, query := range []string{
		`DELETE FROM cron_run WHERE cron IN (SELECT id FROM cron WHERE owner = ?)`, `DELETE FROM cron WHERE owner = ?`,
		`DELETE FROM assistant_version WHERE assistant IN (SELECT id FROM assistant WHERE owner = ?)`,
		`DELETE FROM assistant WHERE owner = ?`, `DELETE FROM item WHERE owner = ?`,
		`DELETE FROM feedback WHERE owner = ?`, `DELETE FROM audit WHERE owner = ?`,
		`DELETE FROM spending WHERE owner = ?`, `DELETE FROM share WHERE owner = ?`,
		`DELETE FROM fact WHERE owner = ?`, `DELETE FROM memory WHERE owner = ?`, `DELETE FROM kv WHERE owner = ?`,
		`DELETE FROM channel_code WHERE owner = ?`, `DELETE FROM channel_connection WHERE owner = ?`,
		`DELETE FROM channel_chat WHERE owner = ?`, `DELETE FROM announcement_seen WHERE owner = ?`,
		`DELETE FROM used WHERE owner = ?`,
		`DELETE FROM comparison_side WHERE comparison IN (SELECT id FROM comparison WHERE owner = ?)`,
		`DELETE FROM comparison WHERE owner = ?`,
		`DELETE FROM kv WHERE owner = '' AND space = '` + personalSpace + `' AND key IN
			(SELECT id || ' ' || ? FROM project)`,
		`DELETE FROM project_member WHERE member = ?`, `DELETE FROM knowledge_member WHERE member = ?`,
		`DELETE FROM saved_prompt WHERE owner = ?`,
		`DELETE FROM fact WHERE substr(owner, 1, length(?1) + 1) = ?1 || '/'`,
		`DELETE FROM memory WHERE substr(owner, 1, length(?1) + 1) = ?1 || '/'`,
	} {
		if err := w.exec(query, owner); err != nil {
			return err
		}
	}
	return nil
}
