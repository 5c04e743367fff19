package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Assistant is a named set of defaults for runs. Times have millisecond resolution.
type Assistant struct {
	ID          string
	Owner       string // "" is written as [DefaultOwner]
	Graph       string
	Name        string
	Description *string
	Version     int
	Config      json.RawMessage // an object; nil is written as {}, like Context and Metadata
	Context     json.RawMessage
	Metadata    json.RawMessage
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

const assistantColumns = `id, owner, graph, name, description, version, config, context, metadata,
	created_at, updated_at`

func scanAssistant(row scanner) (a Assistant, err error) {
	var created, updated int64
	var config, ctx, meta []byte
	err = row.Scan(&a.ID, &a.Owner, &a.Graph, &a.Name, &a.Description, &a.Version, &config, &ctx, &meta, &created,
		&updated)
	a.Config, a.Context, a.Metadata = config, ctx, meta
	a.CreatedAt, a.UpdatedAt = fromMillis(created), fromMillis(updated)
	return a, translate(err)
}

const selectAssistant = `SELECT ` + assistantColumns + ` FROM assistant WHERE id = ? AND owner = ?`

// Assistant returns an assistant of owner, or ErrNotFound.
func (db *DB) Assistant(ctx context.Context, owner, id string) (Assistant, error) {
	a, err := scanAssistant(db.one(db.brief(ctx), selectAssistant, id, orDefault(owner, DefaultOwner)))
	if err != nil {
		return Assistant{}, fmt.Errorf("assistant %s: %w", id, err)
	}
	return a, nil
}

// EachAssistant calls f with the assistants of owner, oldest first, without their Config
// and Context, until f returns false.
func (db *DB) EachAssistant(ctx context.Context, owner string, f func(Assistant) bool) error {
	err := db.each(ctx, `SELECT id, owner, graph, name, description, version, '{}', '{}', metadata,
		created_at, updated_at FROM assistant WHERE owner = ? ORDER BY created_at, id`,
		[]any{orDefault(owner, DefaultOwner)}, func(rows *sql.Rows) (bool, error) {
			a, err := scanAssistant(rows)
			return err == nil && f(a), err
		})
	if err != nil {
		return fmt.Errorf("list assistants: %w", err)
	}
	return nil
}

// CreateAssistant stores a new assistant as version 1 and returns it. ErrExists if the id is taken, by any owner.
func (db *DB) CreateAssistant(ctx context.Context, a Assistant) (Assistant, error) {
	a.Owner, a.Version = orDefault(a.Owner, DefaultOwner), 1
	a.CreatedAt = db.Now().UTC().Truncate(time.Millisecond)
	a.UpdatedAt = a.CreatedAt
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		if err := w.changeOr(ErrExists, `INSERT INTO assistant(`+assistantColumns+
			`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(id) DO NOTHING`,
			a.ID, a.Owner, a.Graph, a.Name, a.Description, a.Version,
			object(a.Config), object(a.Context), object(a.Metadata), a.CreatedAt.UnixMilli(), a.UpdatedAt.UnixMilli()); err != nil {
			return err
		}
		return w.keepVersion(a)
	}})
	if err != nil {
		return a, fmt.Errorf("create assistant %s: %w", a.ID, err)
	}
	return a, nil
}

// ChangeAssistant lets change edit an assistant of owner and stores the result as its newest version.
// change runs inside the transaction: it must not call the store, and its error leaves everything
// unchanged. ErrNotFound if the assistant doesn't exist.
func (db *DB) ChangeAssistant(ctx context.Context, owner, id string, change func(*Assistant) error) (Assistant, error) {
	var a Assistant
	err := db.w.do(ctx, &job{apply: func(w *writer) (err error) {
		if a, err = w.assistant(owner, id); err != nil {
			return err
		}
		if err := change(&a); err != nil {
			return err
		}
		s, err := w.stmt(`SELECT coalesce(max(version), 0) + 1 FROM assistant_version WHERE assistant = ?`)
		if err != nil {
			return err
		}
		if err := s.QueryRowContext(context.Background(), id).Scan(&a.Version); err != nil {
			return err
		}
		a.UpdatedAt = db.Now().UTC().Truncate(time.Millisecond)
		if err := w.putAssistant(a); err != nil {
			return err
		}
		return w.keepVersion(a)
	}})
	if err != nil {
		return a, fmt.Errorf("change assistant %s: %w", id, err)
	}
	return a, nil
}

// UseAssistantVersion makes an older version of an assistant the current one. ErrNotFound if the assistant or
// version doesn't exist.
func (db *DB) UseAssistantVersion(ctx context.Context, owner, id string, version int) (Assistant, error) {
	var a Assistant
	err := db.w.do(ctx, &job{apply: func(w *writer) (err error) {
		if a, err = w.assistant(owner, id); err != nil {
			return err
		}
		s, err := w.stmt(`SELECT graph, name, description, config, context, metadata FROM assistant_version
			WHERE assistant = ? AND version = ?`)
		if err != nil {
			return err
		}
		var config, ctx, meta []byte
		row := s.QueryRowContext(context.Background(), id, version)
		if err := row.Scan(&a.Graph, &a.Name, &a.Description, &config, &ctx, &meta); err != nil {
			return translate(err)
		}
		a.Version, a.Config, a.Context, a.Metadata = version, config, ctx, meta
		a.UpdatedAt = db.Now().UTC().Truncate(time.Millisecond)
		return w.putAssistant(a)
	}})
	if err != nil {
		return a, fmt.Errorf("read version %d of assistant %s: %w", version, id, err)
	}
	return a, nil
}

// AssistantVersions returns all versions of owner's assistant for which keep returns true, newest first. UpdatedAt is
// when the version was created.
func (db *DB) AssistantVersions(ctx context.Context, owner, id string, keep func(Assistant) bool, limit,
	offset int) ([]Assistant, error) {
	now, err := db.Assistant(ctx, owner, id)
	if err != nil {
		return nil, err
	}
	list := []Assistant{}
	err = db.each(ctx, `SELECT assistant, '', graph, name, description, version, config, context, metadata,
		created_at, created_at FROM assistant_version WHERE assistant = ? ORDER BY version DESC`,
		[]any{id}, func(rows *sql.Rows) (bool, error) {
			a, err := scanAssistant(rows)
			if err != nil || !keep(a) {
				return true, err
			}
			if offset--; offset >= 0 {
				return true, nil
			}
			a.Owner, a.CreatedAt = now.Owner, now.CreatedAt
			list = append(list, a)
			return len(list) < limit, nil
		})
	if err != nil {
		return nil, fmt.Errorf("list versions of assistant %s: %w", id, err)
	}
	return list, nil
}

// DeleteAssistant removes an assistant of owner with its versions and crons. Its runs stay. ErrNotFound if there is
// none.
func (db *DB) DeleteAssistant(ctx context.Context, owner, id string) error {
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		if err := w.changeOr(ErrNotFound, `DELETE FROM assistant WHERE id = ? AND owner = ?`, id, orDefault(owner, DefaultOwner)); err != nil {
			return err
		}
		return errors.Join(w.exec(`DELETE FROM assistant_version WHERE assistant = ?`, id),
			w.exec(`DELETE FROM cron_run WHERE cron IN (SELECT id FROM cron WHERE assistant = ?)`, id),
			w.exec(`DELETE FROM cron WHERE assistant = ?`, id))
	}})
	if err != nil {
		return fmt.Errorf("delete assistant %s: %w", id, err)
	}
	return nil
}

// assistant reads inside the writer's transaction.
func (w *writer) assistant(owner, id string) (Assistant, error) {
	s, err := w.stmt(selectAssistant)
	if err != nil {
		return Assistant{}, err
	}
	return scanAssistant(s.QueryRowContext(context.Background(), id, orDefault(owner, DefaultOwner)))
}

func (w *writer) putAssistant(a Assistant) error {
	return w.exec(`UPDATE assistant SET graph = ?, name = ?, description = ?, version = ?, config = ?, context = ?,
		metadata = ?, updated_at = ? WHERE id = ?`,
		a.Graph, a.Name, a.Description, a.Version, object(a.Config), object(a.Context), object(a.Metadata),
		a.UpdatedAt.UnixMilli(), a.ID)
}

func (w *writer) keepVersion(a Assistant) error {
	return w.exec(`INSERT INTO assistant_version(assistant, version, graph, name, description, config, context,
		metadata, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		a.ID, a.Version, a.Graph, a.Name, a.Description, object(a.Config), object(a.Context), object(a.Metadata),
		a.UpdatedAt.UnixMilli())
}
