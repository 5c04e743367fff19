package store

import (
	"context"
	"fmt"
	"time"
)

// Share is a link by which anyone can read a thread as it was at one checkpoint. A thread has at most one; it is
// deleted with the thread or the checkpoint.
type Share struct {
	Thread     string
	Owner      string // "" is written as [DefaultOwner]
	Token      string // the link's unguessable token
	Checkpoint string // checkpoint of the root namespace
	CreatedAt  time.Time
}

const shareColumns = `thread, owner, token, checkpoint, created_at`

// PutShare shares a thread, or moves its link, which keeps its token, to another checkpoint. It returns the current
// share. ErrNotFound if the thread isn't its owner's or has no such checkpoint.
func (db *DB) PutShare(ctx context.Context, s Share) (Share, error) {
	s.Owner = orDefault(s.Owner, DefaultOwner)
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		return w.changeOr(ErrNotFound, `INSERT INTO share(`+shareColumns+
			`) SELECT ?, ?, ?, ?, ? WHERE EXISTS (SELECT 1 FROM thread WHERE id = ? AND owner = ? AND deleted_at = 0)
			AND EXISTS (SELECT 1 FROM checkpoint WHERE thread = ? AND ns = '' AND id = ?)
			ON CONFLICT(thread) DO UPDATE SET checkpoint = excluded.checkpoint, created_at = excluded.created_at`,
			s.Thread, s.Owner, s.Token, s.Checkpoint, db.Now().UnixMilli(), s.Thread, s.Owner, s.Thread, s.Checkpoint)
	}})
	if err != nil {
		return Share{}, fmt.Errorf("share thread %s: %w", s.Thread, err)
	}
	return db.ShareOf(ctx, s.Owner, s.Thread)
}

// ShareOf returns the share of a thread of owner's, or ErrNotFound.
func (db *DB) ShareOf(ctx context.Context, owner, thread string) (Share, error) {
	return db.share(ctx, `s.thread = ? AND s.owner = ?`, thread, orDefault(owner, DefaultOwner))
}

// ShareByToken returns the share of a link, or ErrNotFound: also while the thread is in the trash, or its owner is
// disabled.
func (db *DB) ShareByToken(ctx context.Context, token string) (Share, error) {
	return db.share(ctx, `s.token = ? AND NOT EXISTS (SELECT 1 FROM "user" u WHERE u.id = s.owner AND u.disabled <> 0)`,
		token)
}

func (db *DB) share(ctx context.Context, where string, args ...any) (s Share, err error) {
	var created int64
	err = db.queryRow(ctx, `SELECT s.thread, s.owner, s.token, s.checkpoint, s.created_at
		FROM share s JOIN thread t ON t.id = s.thread AND t.owner = s.owner AND t.deleted_at = 0
		WHERE `+where, args, &s.Thread, &s.Owner, &s.Token, &s.Checkpoint, &created)
	if err != nil {
		return Share{}, fmt.Errorf("share: %w", err)
	}
	s.CreatedAt = fromMillis(created)
	return s, nil
}

// DeleteShare revokes the link of a thread of owner. ErrNotFound if it has none.
func (db *DB) DeleteShare(ctx context.Context, owner, thread string) error {
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		return w.changeOr(ErrNotFound, `DELETE FROM share WHERE thread = ? AND owner = ?`, thread, orDefault(owner, DefaultOwner))
	}})
	if err != nil {
		return fmt.Errorf("unshare thread %s: %w", thread, err)
	}
	return nil
}

// dropShare removes a thread's link when its checkpoint is gone.
func (p *batch) dropShare() {
	p.add("unshare thread", p.ThreadID, `DELETE FROM share WHERE thread = ? AND checkpoint NOT IN
		(SELECT id FROM checkpoint WHERE thread = ? AND ns = '')`, p.ThreadID, p.ThreadID)
}
