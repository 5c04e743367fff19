package store

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// unsentFor is the lifetime of choices for a new chat, such as disabled tools, before its first message.
const unsentFor = 24 * time.Hour

// maxUnsent limits the values that one DropUnsent deletes.
const maxUnsent = 1000

// DropUnsent deletes values of chats opened at least a day before that moment without any message. Their ids, created
// by the page, contain the time.
func (db *DB) DropUnsent(ctx context.Context, now time.Time) error {
	var b Batch
	err := db.each(ctx, `SELECT space, key FROM kv k WHERE owner = '' AND space >= ? AND space < ?
		AND NOT EXISTS (SELECT 1 FROM thread t WHERE t.id = k.key)`, []any{threadSpaces, threadSpaces + "\x7f"},
		func(rows *sql.Rows) (bool, error) {
			kv := KV{Owner: Global}
			err := rows.Scan(&kv.Space, &kv.Key)
			if at, ok := minted(kv.Key); ok && now.Sub(at) >= unsentFor {
				b.KV = append(b.KV, kv)
			}
			return len(b.KV) < maxUnsent, err
		})
	if err == nil && len(b.KV) > 0 {
		err = db.Commit(ctx, b)
	}
	if err != nil {
		return fmt.Errorf("delete values of chats that were never sent: %w", err)
	}
	return nil
}

// unsent reports whether a value's key is the id of a chat that may still get its first message.
func unsent(key string, now time.Time) bool {
	at, ok := minted(key)
	return ok && now.Sub(at) < unsentFor
}

// minted returns when a UUID of version 7 was made; ok is false for any other text.
func minted(id string) (at time.Time, ok bool) {
	if len(id) != 36 || id[8] != '-' || id[13] != '-' || id[14] != '7' || strings.ContainsAny(id, " +_") {
		return at, false
	}
	ms, err := strconv.ParseInt(id[:8]+id[9:13], 16, 64)
	return time.UnixMilli(ms), err == nil
}
