package store

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"fawn/store/sqlite"
)

// Metadata members that determine a thread's shelf.
const (
	// TemporaryKey is true for a thread that is in no list and deleted when it is left.
	TemporaryKey = "fawn_temporary"
	// ArchivedKey is true for a thread that only searches and the list of archived threads show.
	ArchivedKey = "fawn_archived"
	// TagsKey holds the tags of a thread, a list of strings.
	TagsKey = "fawn_tags"
)

// Shelf selects threads by whether they are archived.
type Shelf int

// Any selects all threads, Open the unarchived ones.
const (
	AnyShelf Shelf = iota
	OpenShelf
	ArchivedShelf
)

// condition returns the SQL condition of a shelf, "" for none.
func (s Shelf) condition() string {
	switch s {
	case OpenShelf:
		return " AND archived = 0"
	case ArchivedShelf:
		return " AND archived = 1"
	}
	return ""
}

// Temporary reports whether the thread is deleted when it is left.
func (t Thread) Temporary() bool { return flagged(t.Metadata, TemporaryKey) }

// Archived reports whether the thread is archived.
func (t Thread) Archived() bool { return flagged(t.Metadata, ArchivedKey) }

func flagged(metadata []byte, name string) bool {
	if !bytes.Contains(metadata, []byte(name)) {
		return false
	}
	m, err := sqlite.Members(metadata)
	return err == nil && string(m[name]) == "true"
}

// Tags returns a thread's tags.
func (t Thread) Tags() []string { return tagsIn(t.Metadata) }

func tagsIn(metadata []byte) (tags []string) {
	if !bytes.Contains(metadata, []byte(TagsKey)) {
		return nil
	}
	m, err := sqlite.Members(metadata)
	if err != nil || json.Unmarshal(m[TagsKey], &tags) != nil {
		return nil
	}
	return tags
}

// hasTags reports whether a thread has all the tags, ignoring case.
func hasTags(metadata []byte, want []string) bool {
	if len(want) == 0 {
		return true
	}
	have := tagsIn(metadata)
	for _, tag := range want {
		if !slices.ContainsFunc(have, func(t string) bool { return Fold(t) == Fold(tag) }) {
			return false
		}
	}
	return true
}

// Tags returns the tags that threads of owner have, in order.
func (db *DB) Tags(ctx context.Context, owner string) ([]string, error) {
	var tags []string
	err := db.each(ctx, `SELECT metadata FROM thread WHERE owner = ? AND deleted_at = 0 AND temporary = 0
		AND metadata {like} ? ESCAPE '\'`, []any{owner, likePattern([]string{TagsKey})},
		func(rows *sql.Rows) (bool, error) {
			var metadata []byte
			err := rows.Scan(&metadata)
			tags = append(tags, tagsIn(metadata)...)
			return true, err
		})
	if err != nil {
		return nil, fmt.Errorf("list tags: %w", err)
	}
	slices.SortFunc(tags, func(a, b string) int { return strings.Compare(Fold(a), Fold(b)) })
	return slices.CompactFunc(tags, func(a, b string) bool { return Fold(a) == Fold(b) }), nil
}

// SetLeave sets the deletion time of a temporary thread; the zero time means unknown. It ignores threads that aren't
// temporary, are in the trash or belong to others.
func (db *DB) SetLeave(ctx context.Context, owner, thread string, at time.Time) error {
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		_, err := w.change(`UPDATE thread SET leave_at = ? WHERE id = ? AND owner = ? AND temporary = 1 AND deleted_at = 0`,
			millis(at), thread, owner)
		return err
	}})
	if err != nil {
		return fmt.Errorf("keep temporary thread %s: %w", thread, err)
	}
	return nil
}

// Left returns the temporary threads due for deletion: abandoned ones, ones inactive for a given time and without an
// active run, and those created before a moment.
func (db *DB) Left(ctx context.Context, now time.Time, silence time.Duration, madeBefore time.Time) ([]string, error) {
	ids, err := rowsOf(ctx, db, `SELECT id FROM thread WHERE `+isLeft+` ORDER BY id`,
		[]any{now.UnixMilli(), now.Add(-silence).UnixMilli(), millis(madeBefore)}, func(rows scanner) (id string, err error) {
			err = rows.Scan(&id)
			return id, err
		})
	if err != nil {
		return nil, fmt.Errorf("list temporary threads: %w", err)
	}
	return ids, nil
}

// isLeft is the condition for deleting temporary threads; [DB.Left] describes its arguments.
const isLeft = `temporary = 1 AND deleted_at = 0 AND (leave_at > 0 AND leave_at <= ?
	OR updated_at <= ? AND status <> 'busy' OR created_at < ?)`

// ClaimLeft marks a thread as permanently deleted if [DB.Left] would still return it, and reports whether it did. A
// thread that was kept or shown again meanwhile is left alone.
func (db *DB) ClaimLeft(ctx context.Context, id string, now time.Time, silence time.Duration, madeBefore time.Time) (bool, error) {
	var n int64
	err := db.trash(ctx, func(w *writer) (err error) {
		n, err = w.change(`UPDATE thread SET deleted_at = 1 WHERE id = ? AND `+isLeft, id, now.UnixMilli(),
			now.Add(-silence).UnixMilli(), millis(madeBefore))
		return err
	})
	if err != nil {
		return false, fmt.Errorf("claim temporary thread %s: %w", id, err)
	}
	return n == 1, nil
}
