package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
)

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

// Tip returns the newest checkpoint of the root namespace that descends from one:
// where the thread stood when it last went that way. ErrNotFound without it.
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
