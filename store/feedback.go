package store

import (
	"context"
	"fmt"
	"time"
)

// Feedback is a user's opinion of a run, or of one of its messages.
type Feedback struct {
	ID        string
	Owner     string // "" is written as [DefaultOwner]
	Thread    string
	Run       string
	Message   string // "" rates the whole run
	Rating    int    // 1 or -1
	Comment   *string
	CreatedAt time.Time // set by the store
}

const feedbackColumns = `id, owner, thread, run, message, rating, comment, created_at`

// AddFeedback stores feedback on a run. replace removes its owner's earlier feedback on the same message. ErrNotFound
// if the run doesn't exist.
func (db *DB) AddFeedback(ctx context.Context, f Feedback, replace bool) (Feedback, error) {
	f.Owner = orDefault(f.Owner, DefaultOwner)
	f.CreatedAt = db.Now().UTC().Truncate(time.Millisecond)
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		if replace {
			if err := w.exec(`DELETE FROM feedback WHERE thread = ? AND run = ? AND message = ? AND owner = ?`,
				f.Thread, f.Run, f.Message, f.Owner); err != nil {
				return err
			}
		}
		return w.changeOr(ErrNotFound, `INSERT INTO feedback(`+feedbackColumns+
			`) SELECT ?, ?, ?, ?, ?, ?, ?, ? WHERE EXISTS (SELECT 1 FROM run WHERE id = ? AND thread = ?)`,
			f.ID, f.Owner, f.Thread, f.Run, f.Message, f.Rating, f.Comment, millis(f.CreatedAt), f.Run, f.Thread)
	}})
	if err != nil {
		return f, fmt.Errorf("write feedback on run %s: %w", f.Run, err)
	}
	return f, nil
}

// Feedback returns an owner's feedback on a run, or with an empty run on a whole thread, oldest first.
func (db *DB) Feedback(ctx context.Context, owner, thread, run string) ([]Feedback, error) {
	list, err := rowsOf(ctx, db, `SELECT `+feedbackColumns+
		` FROM feedback WHERE thread = ? AND (? = '' OR run = ?) AND owner = ? ORDER BY created_at, id`,
		[]any{thread, run, run, orDefault(owner, DefaultOwner)}, func(rows scanner) (f Feedback, err error) {
			var created int64
			err = rows.Scan(&f.ID, &f.Owner, &f.Thread, &f.Run, &f.Message, &f.Rating, &f.Comment, &created)
			f.CreatedAt = fromMillis(created)
			return f, err
		})
	if err != nil {
		return nil, fmt.Errorf("read feedback on run %s: %w", run, err)
	}
	return list, nil
}

// DeleteFeedback removes feedback of owner on a run, all of it if id is empty. ErrNotFound if there is
// none.
func (db *DB) DeleteFeedback(ctx context.Context, owner, thread, run, id string) error {
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		return w.changeOr(ErrNotFound, `DELETE FROM feedback WHERE thread = ? AND run = ? AND owner = ? AND (? = '' OR id = ?)`,
			thread, run, orDefault(owner, DefaultOwner), id, id)
	}})
	if err != nil {
		return fmt.Errorf("delete feedback on run %s: %w", run, err)
	}
	return nil
}
