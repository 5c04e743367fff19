package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Item is a value in clients' own store. Times have millisecond resolution.
type Item struct {
	Namespace []string // labels without '.'
	Key       string
	Value     json.RawMessage // an object
	TTL       time.Duration   // time until it expires after a write or a refreshing read, 0 means never
	CreatedAt time.Time       // set by the store, like UpdatedAt
	UpdatedAt time.Time
}

const itemLive = `(expires_at = 0 OR expires_at > ?)`

// PutItem writes an item of owner, replacing one with the same namespace and key.
func (db *DB) PutItem(ctx context.Context, owner string, it Item) error {
	now := db.Now().UnixMilli()
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		// An expired item is gone: its CreatedAt must not return.
		if err := w.exec(`DELETE FROM item WHERE expires_at > 0 AND expires_at <= ?`, now); err != nil {
			return err
		}
		return w.exec(`INSERT INTO item(owner, namespace, key, value, ttl, expires_at, created_at, updated_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT(owner, namespace, key) DO UPDATE SET value = excluded.value, ttl = excluded.ttl,
			expires_at = excluded.expires_at, updated_at = excluded.updated_at`,
			orDefault(owner, DefaultOwner), strings.Join(it.Namespace, "."), it.Key, object(it.Value),
			it.TTL.Milliseconds(), expiry(now, it.TTL), now, now)
	}})
	if err != nil {
		return fmt.Errorf("put item %s: %w", it.Key, err)
	}
	return nil
}

func expiry(now int64, ttl time.Duration) int64 {
	if ttl <= 0 {
		return 0
	}
	return now + max(ttl.Milliseconds(), 1)
}

// Item returns an item of owner, or ErrNotFound. refresh restarts its time to live.
func (db *DB) Item(ctx context.Context, owner string, namespace []string, key string, refresh bool) (Item, error) {
	now := db.Now().UnixMilli()
	row, it, err := scanItem(db.one(ctx, `SELECT rowid, namespace, key, value, ttl, created_at, updated_at FROM item
		WHERE owner = ? AND namespace = ? AND key = ? AND `+itemLive,
		orDefault(owner, DefaultOwner), strings.Join(namespace, "."), key, now))
	if err == nil && refresh && it.TTL > 0 {
		err = db.refreshItems(ctx, now, []int64{row})
	}
	if err != nil {
		return Item{}, fmt.Errorf("item %s: %w", key, err)
	}
	return it, nil
}

func scanItem(row scanner) (id int64, it Item, err error) {
	var namespace string
	var value []byte
	var ttl, created, updated int64
	err = row.Scan(&id, &namespace, &it.Key, &value, &ttl, &created, &updated)
	it.Namespace, it.Value, it.TTL = strings.Split(namespace, "."), value, time.Duration(ttl)*time.Millisecond
	it.CreatedAt, it.UpdatedAt = fromMillis(created), fromMillis(updated)
	return id, it, translate(err)
}

func (db *DB) refreshItems(ctx context.Context, now int64, rows []int64) error {
	return db.w.do(ctx, &job{apply: func(w *writer) error {
		for _, row := range rows {
			err := w.exec(`UPDATE item SET expires_at = ? + {greatest}(ttl, 1) WHERE rowid = ? AND ttl > 0`, now, row)
			if err != nil {
				return err
			}
		}
		return nil
	}})
}

// DeleteItem deletes an item of owner. A missing one isn't an error.
func (db *DB) DeleteItem(ctx context.Context, owner string, namespace []string, key string) error {
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		return w.exec(`DELETE FROM item WHERE owner = ? AND namespace = ? AND key = ?`, orDefault(owner, DefaultOwner),
			strings.Join(namespace, "."), key)
	}})
	if err != nil {
		return fmt.Errorf("delete item %s: %w", key, err)
	}
	return nil
}

// ExpireItems removes expired items.
func (db *DB) ExpireItems(ctx context.Context) error {
	now := db.Now().UnixMilli()
	var one int
	err := db.queryRow(ctx, `SELECT 1 FROM item WHERE expires_at > 0 AND expires_at <= ? LIMIT 1`, []any{now}, &one)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err == nil {
		err = db.w.do(ctx, &job{apply: func(w *writer) error {
			return w.exec(`DELETE FROM item WHERE expires_at > 0 AND expires_at <= ?`, now)
		}})
	}
	if err != nil {
		return fmt.Errorf("remove expired items: %w", err)
	}
	return nil
}

// ItemQuery selects a page of items.
type ItemQuery struct {
	Prefix        []string // labels the namespace starts with
	Score         func(key string, value []byte) float64
	Limit, Offset int
	Refresh       bool // restart the time to live of the returned items
}

// FoundItem is an item with its score from the query's function.
type FoundItem struct {
	Item
	Score float64
}

// Items returns the items of owner below a namespace with a Score above zero, highest first and then most recently
// written. Without Score it returns all. At most one non-returned value at a time is in memory.
func (db *DB) Items(ctx context.Context, owner string, q ItemQuery) ([]FoundItem, error) {
	now := db.Now().UnixMilli()
	value := "''"
	if q.Score != nil {
		value = "value"
	}
	low, high := prefixRange(q.Prefix)
	queries := []string{`SELECT rowid, key, ` + value + `, updated_at FROM item
		WHERE owner = ? AND (namespace = ? OR namespace >= ? AND namespace < ?) AND ` + itemLive,
		`SELECT rowid, namespace, key, value, ttl, created_at, updated_at FROM item WHERE rowid = ?`}
	found := []FoundItem{}
	var expiring []int64
	err := db.view(ctx, queries, func(v view) error {
		found, expiring = []FoundItem{}, nil
		type hit struct {
			row, updated int64
			score        float64
		}
		var hits []hit
		args := []any{orDefault(owner, DefaultOwner), strings.Join(q.Prefix, "."), low, high, now}
		err := eachRow(ctx, v.stmts[0], args,
			func(rows *sql.Rows) (bool, error) {
				h := hit{score: 1}
				var key string
				var value sql.RawBytes
				if err := rows.Scan(&h.row, &key, &value, &h.updated); err != nil {
					return false, err
				}
				if q.Score != nil {
					h.score = q.Score(key, value)
				}
				if h.score > 0 {
					hits = append(hits, h)
				}
				return true, nil
			})
		if err != nil {
			return err
		}
		slices.SortFunc(hits, func(a, b hit) int {
			return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.updated, a.updated), cmp.Compare(b.row, a.row))
		})
		hits = hits[min(q.Offset, len(hits)):]
		for _, h := range hits[:min(q.Limit, len(hits))] {
			row, it, err := scanItem(v.stmts[1].QueryRowContext(ctx, h.row))
			if err != nil {
				return err
			}
			if it.TTL > 0 {
				expiring = append(expiring, row)
			}
			found = append(found, FoundItem{it, h.score})
		}
		return nil
	})
	if err == nil && q.Refresh && len(expiring) > 0 {
		err = db.refreshItems(ctx, now, expiring)
	}
	if err != nil {
		return nil, fmt.Errorf("search items: %w", err)
	}
	return found, nil
}

// prefixRange returns the range of namespaces longer than prefix: from its joined form with a dot to before the
// character after the dot. The empty prefix matches everything.
func prefixRange(prefix []string) (low, high string) {
	if len(prefix) == 0 {
		return "", "\U0010FFFF"
	}
	joined := strings.Join(prefix, ".")
	return joined + ".", joined + "/"
}

// NamespaceQuery selects namespaces. A label "*" matches any label.
type NamespaceQuery struct {
	Prefix, Suffix []string
	MaxDepth       int // limit of labels kept of each, 0 means all
	Limit, Offset  int
}

// Namespaces returns the namespaces of owner's items in order, each once.
func (db *DB) Namespaces(ctx context.Context, owner string, q NamespaceQuery) ([][]string, error) {
	found, seen := [][]string{}, map[string]bool{}
	err := db.each(ctx, `SELECT DISTINCT namespace FROM item WHERE owner = ? AND `+itemLive+` ORDER BY namespace`,
		[]any{orDefault(owner, DefaultOwner), db.Now().UnixMilli()}, func(rows *sql.Rows) (bool, error) {
			var joined string
			if err := rows.Scan(&joined); err != nil {
				return false, err
			}
			labels := strings.Split(joined, ".")
			if len(q.Prefix) > len(labels) || len(q.Suffix) > len(labels) ||
				!sameLabels(q.Prefix, labels[:len(q.Prefix)]) ||
				!sameLabels(q.Suffix, labels[len(labels)-len(q.Suffix):]) {
				return true, nil
			}
			if q.MaxDepth > 0 && len(labels) > q.MaxDepth {
				labels = labels[:q.MaxDepth]
				joined = strings.Join(labels, ".")
			}
			if seen[joined] {
				return true, nil
			}
			seen[joined] = true
			if len(seen) > q.Offset {
				found = append(found, labels)
			}
			return len(found) < q.Limit, nil
		})
	if err != nil {
		return nil, fmt.Errorf("list namespaces: %w", err)
	}
	return found, nil
}

func sameLabels(want, have []string) bool {
	return slices.EqualFunc(want, have, func(w, h string) bool { return w == "*" || w == h })
}
