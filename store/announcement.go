package store

import (
	"context"
	"fmt"
	"time"
)

// Announcement is a text that administrators show on everyone's pages.
type Announcement struct {
	ID        string
	Text      string
	Level     string    // info or warning
	EndsAt    time.Time // zero for no end
	CreatedAt time.Time // set by the store
}

const announcementColumns = `id, text, level, ends_at, created_at`

// AddAnnouncement stores an announcement.
func (db *DB) AddAnnouncement(ctx context.Context, a Announcement) (Announcement, error) {
	a.CreatedAt = db.Now().UTC().Truncate(time.Millisecond)
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		return w.exec(`INSERT INTO announcement(`+announcementColumns+`) VALUES (?, ?, ?, ?, ?)`, a.ID, a.Text, a.Level,
			millis(a.EndsAt), millis(a.CreatedAt))
	}})
	if err != nil {
		return a, fmt.Errorf("write announcement: %w", err)
	}
	return a, nil
}

// Announcements returns all announcements, the newest first.
func (db *DB) Announcements(ctx context.Context) ([]Announcement, error) {
	return db.announcements(ctx, `ORDER BY created_at DESC, id`)
}

// AnnouncementsFor returns current announcements that a user has not dismissed, newest first.
func (db *DB) AnnouncementsFor(ctx context.Context, owner string) ([]Announcement, error) {
	return db.announcements(ctx, `WHERE (ends_at = 0 OR ends_at > ?) AND NOT EXISTS (SELECT 1 FROM announcement_seen s
		WHERE s.owner = ? AND s.announcement = announcement.id) ORDER BY created_at DESC, id`, db.Now().UnixMilli(), owner)
}

func (db *DB) announcements(ctx context.Context, which string, args ...any) (list []Announcement, err error) {
	list, err = rowsOf(ctx, db, `SELECT `+announcementColumns+` FROM announcement `+which, args,
		func(rows scanner) (a Announcement, err error) {
			var ends, created int64
			err = rows.Scan(&a.ID, &a.Text, &a.Level, &ends, &created)
			if a.CreatedAt = fromMillis(created); ends > 0 {
				a.EndsAt = fromMillis(ends)
			}
			return a, err
		})
	if err != nil {
		return nil, fmt.Errorf("list announcements: %w", err)
	}
	return list, nil
}

// DismissAnnouncement hides an announcement from one person. ErrNotFound if it doesn't exist.
func (db *DB) DismissAnnouncement(ctx context.Context, owner, id string) error {
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		return w.changeOr(ErrNotFound, `INSERT INTO announcement_seen(owner, announcement) SELECT ?, id FROM announcement WHERE id = ?
			ON CONFLICT (owner, announcement) DO UPDATE SET owner = excluded.owner`, owner, id)
	}})
	if err != nil {
		return fmt.Errorf("dismiss announcement: %w", err)
	}
	return nil
}

// DeleteAnnouncement removes an announcement. ErrNotFound if it doesn't exist.
func (db *DB) DeleteAnnouncement(ctx context.Context, id string) error {
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		if err := w.changeOr(ErrNotFound, `DELETE FROM announcement WHERE id = ?`, id); err != nil {
			return err
		}
		return w.exec(`DELETE FROM announcement_seen WHERE announcement = ?`, id)
	}})
	if err != nil {
		return fmt.Errorf("delete announcement: %w", err)
	}
	return nil
}
