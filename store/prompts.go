package store

import (
	"context"
	"fmt"
	"time"
)

// SharedWithAll instead of a team's id shares a prompt with everyone on the server.
const SharedWithAll = "all"

// SavedPrompt is a saved text to begin messages with.
type SavedPrompt struct {
	ID        string
	Owner     string // "" is written as [DefaultOwner]
	Name      string // unique per owner
	About     string
	Text      string
	Shared    string // "" for private, [SharedWithAll], or a team's id
	CreatedAt time.Time
	UpdatedAt time.Time
}

const promptColumns = `p.id, p.owner, p.name, p.about, p.text, p.shared, p.created_at, p.updated_at`

// sharedWith holds for prompts that are shared with the person ?1.
const sharedWith = `(p.shared = 'all' OR p.shared IN (SELECT m.team FROM team_member m WHERE m.member = ?1
	OR m.member = (SELECT 'role:' || u.role FROM "user" u WHERE u.id = ?1)))`

func scanPrompt(row scanner) (p SavedPrompt, err error) {
	var created, updated int64
	err = translate(row.Scan(&p.ID, &p.Owner, &p.Name, &p.About, &p.Text, &p.Shared, &created, &updated))
	p.CreatedAt, p.UpdatedAt = fromMillis(created), fromMillis(updated)
	return p, err
}

// SavedPrompts returns a person's own prompts and those shared with them, by name; with all, those shared with others,
// too.
func (db *DB) SavedPrompts(ctx context.Context, person string, all bool) ([]SavedPrompt, error) {
	list, err := rowsOf(ctx, db, `SELECT `+promptColumns+` FROM saved_prompt p WHERE p.owner = ?1 OR `+sharedWith+`
		OR ?2 = 1 AND p.shared <> '' ORDER BY p.name, p.created_at, p.id`,
		[]any{orDefault(person, DefaultOwner), number(all)}, scanPrompt)
	if err != nil {
		return nil, fmt.Errorf("list the prompts of %s: %w", person, err)
	}
	return list, nil
}

// SavedPrompt returns a person's own prompt or one shared with them, with all also with others; else ErrNotFound.
func (db *DB) SavedPrompt(ctx context.Context, person, id string, all bool) (SavedPrompt, error) {
	p, err := scanPrompt(db.one(db.brief(ctx), `SELECT `+promptColumns+` FROM saved_prompt p WHERE p.id = ?2
		AND (p.owner = ?1 OR `+sharedWith+` OR ?3 = 1 AND p.shared <> '')`, orDefault(person, DefaultOwner), id, number(all)))
	if err != nil {
		return SavedPrompt{}, fmt.Errorf("prompt %s: %w", id, err)
	}
	return p, nil
}

// AddPrompts stores new prompts, all or none. ErrExists if their owner has one of that name.
func (db *DB) AddPrompts(ctx context.Context, list ...SavedPrompt) error {
	now := db.Now().UnixMilli()
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		for _, p := range list {
			if err := w.changeOr(fmt.Errorf("%s: %w", p.Name, ErrExists), `INSERT INTO saved_prompt(id, owner, name, about, text, shared, created_at, updated_at)
				VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`, p.ID, orDefault(p.Owner, DefaultOwner), p.Name,
				p.About, p.Text, p.Shared, now, now); err != nil {
				return err
			}
		}
		return nil
	}})
	if err != nil {
		return fmt.Errorf("add prompts: %w", err)
	}
	return nil
}

// ChangePrompt changes name, text and sharing of an existing prompt. Errors: ErrNotFound, ErrExists if its owner has
// another prompt with this name.
func (db *DB) ChangePrompt(ctx context.Context, p SavedPrompt) error {
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		s, err := w.stmt(`SELECT count(*) FROM saved_prompt WHERE owner = ? AND name = ? AND id <> ?`)
		if err != nil {
			return err
		}
		var others int
		if err := s.QueryRowContext(context.Background(), orDefault(p.Owner, DefaultOwner), p.Name, p.ID).Scan(&others); err != nil {
			return translate(err)
		}
		if others > 0 {
			return ErrExists
		}
		return w.changeOr(ErrNotFound, `UPDATE saved_prompt SET name = ?, about = ?, text = ?, shared = ?, updated_at = ? WHERE id = ?`,
			p.Name, p.About, p.Text, p.Shared, db.Now().UnixMilli(), p.ID)
	}})
	if err != nil {
		return fmt.Errorf("change prompt %s: %w", p.ID, err)
	}
	return nil
}

// DeletePrompt deletes a prompt and erases it from the file. ErrNotFound if it doesn't exist.
func (db *DB) DeletePrompt(ctx context.Context, id string) error {
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		w.FreesMuch()
		return w.overwriting(func() error {
			return w.changeOr(ErrNotFound, `DELETE FROM saved_prompt WHERE id = ?`, id)
		})
	}})
	if err != nil {
		return fmt.Errorf("delete prompt %s: %w", id, err)
	}
	return nil
}
