package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"
)

// TTL is the time to live of an untouched thread, and the action at its end.
type TTL struct {
	After    time.Duration `json:"after"`    // nanoseconds since its last update
	Strategy string        `json:"strategy"` // delete or keep_latest
}

// keepLatest is the strategy that leaves a thread its newest checkpoint.
const keepLatest = "keep_latest"

// ttlSpace holds the times to live of threads that have one.
const ttlSpace = threadSpaces + "ttl"

// Row returns the row that gives a thread this time to live; nil removes it.
func (t *TTL) Row(thread string) (KV, error) {
	row := KV{Space: ttlSpace, Key: thread}
	if t == nil {
		return row, nil
	}
	body, err := json.Marshal(t)
	row.Body = body
	return row, err
}

// ThreadTTL returns a thread's time to live, or ErrNotFound if it has none.
func (db *DB) ThreadTTL(ctx context.Context, thread string) (TTL, error) {
	var t TTL
	body, err := db.KV(ctx, Global, ttlSpace, thread)
	if err != nil {
		return t, err
	}
	if err := json.Unmarshal(body, &t); err != nil {
		return t, fmt.Errorf("decode time to live of thread %s: %w", thread, err)
	}
	return t, nil
}

// Due is a thread with an expired time to live.
type Due struct {
	ID       string
	Touched  time.Time
	Strategy string // its own time-to-live strategy, otherwise ""
}

// hasHistory is true for rows t of thread with more than their newest checkpoint needs.
const hasHistory = `(EXISTS (SELECT 1 FROM event e WHERE e.thread = t.id)
	OR (SELECT count(*) FROM (SELECT 1 FROM checkpoint c WHERE c.thread = t.id LIMIT 2) c) > 1)`

// Expired returns threads whose own time to live expired by a moment, except those returned before.
func (db *DB) Expired(ctx context.Context, now time.Time) ([]Due, error) {
	var due []Due
	err := db.each(ctx, `SELECT t.id, t.updated_at, k.body, `+hasHistory+
		` FROM kv k JOIN thread t ON t.id = k.key WHERE k.owner = '' AND k.space = ?`, []any{ttlSpace},
		func(rows *sql.Rows) (bool, error) {
			var d Due
			var at int64
			var body []byte
			var history bool
			if err := rows.Scan(&d.ID, &at, &body, &history); err != nil {
				return false, err
			}
			var t TTL
			if err := json.Unmarshal(body, &t); err != nil {
				return false, fmt.Errorf("decode time to live of thread %s: %w", d.ID, err)
			}
			d.Touched, d.Strategy = fromMillis(at), t.Strategy
			if !d.Touched.Add(t.After).After(now) && (history || t.Strategy != keepLatest) {
				due = append(due, d)
			}
			return true, nil
		})
	if err != nil {
		return nil, fmt.Errorf("find expired threads: %w", err)
	}
	return due, nil
}

// Stale returns the threads idle since a moment, oldest first, at most limit. An imported thread counts from its
// import, stored in its state. Pinned, busy, scheduled and trashed threads are excluded; with history also those
// without any to forget.
func (db *DB) Stale(ctx context.Context, before time.Time, history bool, limit int) ([]Due, error) {
	query := `SELECT id, CASE WHEN state_updated_at > updated_at THEN state_updated_at ELSE updated_at END AS touched
		FROM thread t WHERE updated_at < ? AND state_updated_at < ? AND deleted_at = 0 AND pinned = 0 AND status <> 'busy'
		AND NOT EXISTS (SELECT 1 FROM cron c WHERE c.thread = t.id AND c.enabled = 1)`
	if history {
		query += ` AND ` + hasHistory
	}
	due, err := rowsOf(ctx, db, query+` ORDER BY touched, id LIMIT ?`, []any{before.UnixMilli(), before.UnixMilli(), limit},
		func(rows scanner) (d Due, err error) {
			var at int64
			err = rows.Scan(&d.ID, &at)
			d.Touched = fromMillis(at)
			return d, err
		})
	if err != nil {
		return nil, fmt.Errorf("find stale threads: %w", err)
	}
	return due, nil
}
