package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"
)

// Comparison is a question answered by several models, each in a separate thread.
type Comparison struct {
	ID        string
	Owner     string
	Sides     []ComparisonSide
	Chosen    string // the thread with the preferred answer, "" if undecided
	CreatedAt time.Time
}

// ComparisonSide is one of the answers.
type ComparisonSide struct{ Thread, Model string }

// AddComparison stores a comparison without a choice.
func (db *DB) AddComparison(ctx context.Context, c Comparison) error {
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		if err := w.exec(`INSERT INTO comparison(id, owner, chosen, created_at) VALUES (?, ?, '', ?)`, c.ID,
			orDefault(c.Owner, DefaultOwner), db.Now().UnixMilli()); err != nil {
			return err
		}
		for i, s := range c.Sides {
			if err := w.exec(`INSERT INTO comparison_side(comparison, place, thread, model) VALUES (?, ?, ?, ?)`, c.ID, i,
				s.Thread, s.Model); err != nil {
				return err
			}
		}
		return nil
	}})
	if err != nil {
		return fmt.Errorf("write comparison: %w", err)
	}
	return nil
}

// Comparison returns one of an owner, or ErrNotFound.
func (db *DB) Comparison(ctx context.Context, owner, id string) (Comparison, error) {
	c := Comparison{ID: id, Owner: orDefault(owner, DefaultOwner)}
	err := db.each(ctx, `SELECT c.chosen, c.created_at, s.thread, s.model FROM comparison c
		JOIN comparison_side s ON s.comparison = c.id WHERE c.id = ? AND c.owner = ? ORDER BY s.place`, []any{id, c.Owner},
		func(rows *sql.Rows) (bool, error) {
			var created int64
			var s ComparisonSide
			err := rows.Scan(&c.Chosen, &created, &s.Thread, &s.Model)
			c.CreatedAt = fromMillis(created)
			c.Sides = append(c.Sides, s)
			return true, err
		})
	if err == nil && len(c.Sides) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return Comparison{}, fmt.Errorf("comparison %s: %w", id, err)
	}
	return c, nil
}

// ChooseSide records the preferred thread of a comparison; a later choice replaces it. ErrNotFound if the comparison
// or that thread in it doesn't exist.
func (db *DB) ChooseSide(ctx context.Context, owner, id, thread string) error {
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		return w.changeOr(ErrNotFound, `UPDATE comparison SET chosen = ? WHERE id = ? AND owner = ? AND EXISTS (SELECT 1
			FROM comparison_side s WHERE s.comparison = comparison.id AND s.thread = ?)`, thread, id,
			orDefault(owner, DefaultOwner), thread)
	}})
	if err != nil {
		return fmt.Errorf("choose in comparison %s: %w", id, err)
	}
	return nil
}

// ModelRecord is a model's record in decided comparisons.
type ModelRecord struct {
	Model     string
	Won, Seen int
}

// ModelRecords counts for each model the decided comparisons of all owners and those it won; the best first.
func (db *DB) ModelRecords(ctx context.Context) (list []ModelRecord, err error) {
	list, err = rowsOf(ctx, db, `SELECT s.model, {number}sum(CASE WHEN s.thread = c.chosen THEN 1 ELSE 0 END){number end}, count(*)
		FROM comparison c JOIN comparison_side s ON s.comparison = c.id WHERE c.chosen <> '' GROUP BY s.model`, nil,
		func(rows scanner) (r ModelRecord, err error) {
			err = rows.Scan(&r.Model, &r.Won, &r.Seen)
			return r, err
		})
	if err != nil {
		return nil, fmt.Errorf("count comparisons: %w", err)
	}
	slices.SortFunc(list, func(a, b ModelRecord) int {
		if d := b.Won*a.Seen - a.Won*b.Seen; d != 0 {
			return d
		}
		return b.Seen - a.Seen
	})
	return list, nil
}
