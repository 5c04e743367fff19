package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// A deleted thread is in the trash until [DB.Restore] restores it or it is permanently deleted. Its owner and the time
// of its deletion identify the deletion; threads deleted together have the same time.

// Discard moves a thread of owner to the trash as of a time. ErrNotFound if the owner has no such
// thread, or it is there already.
func (db *DB) Discard(ctx context.Context, owner, thread string, at time.Time) error {
	err := db.trash(ctx, func(w *writer) error {
		return w.changeOr(ErrNotFound, `UPDATE thread SET deleted_at = ? WHERE id = ? AND owner = ? AND deleted_at = 0`,
			at.UnixMilli(), thread, owner)
	})
	if err != nil {
		return fmt.Errorf("discard thread %s: %w", thread, err)
	}
	return nil
}

// Restore undeletes an owner's threads that were deleted at a time, unless that is longer ago than keep. It returns the
// threads, none if it is too late.
func (db *DB) Restore(ctx context.Context, owner string, at time.Time,
	keep time.Duration) (threads []string, err error) {
	err = db.trash(ctx, func(w *writer) error {
		if !at.Add(keep).After(db.Now()) { // the trash doesn't change between this and the update
			return nil
		}
		s, err := w.stmt(`UPDATE thread SET deleted_at = 0
			WHERE deleted_at = ? AND deleted_at > 0 AND owner = ? RETURNING id`)
		if err != nil {
			return err
		}
		threads, err = w.ids(s, at.UnixMilli(), owner)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("restore threads: %w", err)
	}
	return threads, nil
}

// Overdue returns the threads of all owners that have been in the trash for longer than keep, and the time until the
// next one is due, at most keep; 0 for none. They can no longer be restored.
func (db *DB) Overdue(ctx context.Context, keep time.Duration) (threads []string, next time.Duration, err error) {
	err = db.trash(ctx, func(w *writer) error {
		now := db.Now()
		s, err := w.stmt(`SELECT id FROM thread WHERE deleted_at > 0 AND deleted_at <= ? ORDER BY deleted_at`)
		if err != nil {
			return err
		}
		if threads, err = w.ids(s, now.Add(-keep).UnixMilli()); err != nil {
			return err
		}
		s, err = w.stmt(`SELECT coalesce(min(deleted_at), 0) FROM thread WHERE deleted_at > 0 AND deleted_at > ?`)
		if err != nil {
			return err
		}
		var at int64
		if err := s.QueryRowContext(context.Background(), max(0, now.Add(-keep).UnixMilli())).Scan(&at); err != nil ||
			at == 0 {
			return translate(err)
		}
		next = min(max(time.UnixMilli(at).Add(keep).Sub(now), time.Millisecond), keep)
		return nil
	})
	if err != nil {
		return nil, 0, fmt.Errorf("read the trash: %w", err)
	}
	return threads, next, nil
}

// Discarded counts an owner's threads that were deleted at a time and not restored.
func (db *DB) Discarded(ctx context.Context, owner string, at time.Time) (n int, err error) {
	err = db.queryRow(ctx, `SELECT count(*) FROM thread WHERE deleted_at = ? AND deleted_at > 0 AND owner = ?`,
		[]any{at.UnixMilli(), owner}, &n)
	if err != nil {
		return 0, fmt.Errorf("count deleted threads: %w", err)
	}
	return n, nil
}

// trash runs a write after which lists of threads may differ.
func (db *DB) trash(ctx context.Context, apply func(w *writer) error) error {
	return db.w.do(ctx, &job{apply: apply, then: func(w *writer) { w.listed.Add(1) }})
}

// ids reads a column of ids.
func (w *writer) ids(s *sql.Stmt, args ...any) ([]string, error) {
	var ids []string
	err := eachRow(context.Background(), s, args, func(rows *sql.Rows) (bool, error) {
		var id string
		err := rows.Scan(&id)
		ids = append(ids, id)
		return true, err
	})
	return ids, err
}
