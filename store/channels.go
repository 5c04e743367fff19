package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Statuses of a [Connection].
const (
	Connected = "connected"
	Revoked   = "revoked"
)

// Connection links a chat app's account to a user.
type Connection struct {
	ID            string
	Owner         string
	Provider      string
	Status        string
	Account       string // the person's id there
	AccountName   string
	Workspace     string
	WorkspaceName string
	Metadata      json.RawMessage
	CreatedAt     time.Time
	UpdatedAt     time.Time
	LastSeenAt    time.Time
}

const connectionColumns = `id, owner, provider, status, account, account_name, workspace, workspace_name, metadata,
	created_at, updated_at, last_seen_at`

func scanConnection(row scanner) (c Connection, err error) {
	var created, updated, seen int64
	var meta []byte
	err = row.Scan(&c.ID, &c.Owner, &c.Provider, &c.Status, &c.Account, &c.AccountName, &c.Workspace, &c.WorkspaceName,
		&meta, &created, &updated, &seen)
	c.Metadata, c.CreatedAt, c.UpdatedAt, c.LastSeenAt = meta, fromMillis(created), fromMillis(updated),
		fromMillis(seen)
	return c, translate(err)
}

// AddChannelCode stores the hash of a code that connects its sender to owner. ErrConflict if there are too many open
// codes of this owner and provider.
func (db *DB) AddChannelCode(ctx context.Context, owner, provider, hash string, until time.Time, open int) error {
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		now := db.Now().UnixMilli()
		if err := w.exec(`DELETE FROM channel_code WHERE expires_at <= ? OR used_at > 0`, now); err != nil {
			return err
		}
		s, err := w.stmt(`SELECT count(*) FROM channel_code WHERE owner = ? AND provider = ?`)
		if err != nil {
			return err
		}
		var n int
		if err := s.QueryRowContext(context.Background(), owner, provider).Scan(&n); err != nil {
			return translate(err)
		}
		if n >= open {
			return ErrConflict
		}
		return w.exec(`INSERT INTO channel_code(hash, owner, provider, expires_at, used_at) VALUES (?, ?, ?, ?, 0)`,
			hash, owner, provider, millis(until))
	}})
	if err != nil {
		return fmt.Errorf("store a code for %s: %w", provider, err)
	}
	return nil
}

// OpenChannelCodes counts the codes of an owner for a provider that can still be used.
func (db *DB) OpenChannelCodes(ctx context.Context, owner, provider string) (n int, err error) {
	err = db.queryRow(ctx, `SELECT count(*) FROM channel_code WHERE owner = ? AND provider = ? AND used_at = 0 AND
		expires_at > ?`, []any{owner, provider, db.Now().UnixMilli()}, &n)
	if err != nil {
		err = fmt.Errorf("count open codes for %s: %w", provider, err)
	}
	return n, err
}

// useCode consumes a code and returns its owner. ErrNotFound if it cannot be used.
func (w *writer) useCode(provider, hash string, now time.Time) (owner string, err error) {
	s, err := w.stmt(`UPDATE channel_code SET used_at = ? WHERE hash = ? AND provider = ? AND used_at = 0 AND
		expires_at > ? RETURNING owner`)
	if err != nil {
		return "", err
	}
	at := now.UnixMilli()
	err = s.QueryRowContext(context.Background(), at, hash, provider, at).Scan(&owner)
	return owner, translate(err)
}

// BurnChannelCode invalidates a code.
func (db *DB) BurnChannelCode(ctx context.Context, provider, hash string) error {
	return db.w.do(ctx, &job{apply: func(w *writer) error {
		_, err := w.useCode(provider, hash, db.Now())
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		return err
	}})
}

// Connect uses up a code and connects the account of c to the code's owner, in place of any other
// connection of that account. It returns the connection as stored. ErrNotFound if the code was used,
// has expired or never was.
func (db *DB) Connect(ctx context.Context, hash string, c Connection) (Connection, error) {
	now := db.Now().UTC().Truncate(time.Millisecond)
	c.Status, c.CreatedAt, c.UpdatedAt, c.LastSeenAt = Connected, now, now, now
	err := db.w.do(ctx, &job{apply: func(w *writer) (err error) {
		if c.Owner, err = w.useCode(c.Provider, hash, now); err != nil {
			return err
		}
		if err := w.exec(`UPDATE channel_connection SET status = 'revoked', updated_at = ?
			WHERE provider = ? AND account = ? AND workspace = ? AND status <> 'revoked'`, now.UnixMilli(), c.Provider,
			c.Account, c.Workspace); err != nil {
			return err
		}
		return w.exec(`INSERT INTO channel_connection(`+connectionColumns+
			`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, c.ID, c.Owner, c.Provider, c.Status, c.Account,
			c.AccountName, c.Workspace, c.WorkspaceName, object(c.Metadata), now.UnixMilli(), now.UnixMilli(),
			now.UnixMilli())
	}})
	if err != nil {
		return c, fmt.Errorf("connect an account of %s: %w", c.Provider, err)
	}
	return c, nil
}

// ConnectionOf returns the connection of an account that is not revoked, or ErrNotFound.
func (db *DB) ConnectionOf(ctx context.Context, provider, account, workspace string) (Connection, error) {
	c, err := scanConnection(db.one(ctx, `SELECT `+connectionColumns+` FROM channel_connection
		WHERE provider = ? AND account = ? AND workspace = ? AND status <> 'revoked'`, provider, account, workspace))
	if err != nil {
		return c, fmt.Errorf("connection of an account of %s: %w", provider, err)
	}
	return c, nil
}

// Connections returns the connections of an owner, also revoked ones, oldest first.
func (db *DB) Connections(ctx context.Context, owner string) ([]Connection, error) {
	list, err := rowsOf(ctx, db, `SELECT `+connectionColumns+` FROM channel_connection WHERE owner = ? ORDER BY created_at, id`,
		[]any{owner}, scanConnection)
	if err != nil {
		return nil, fmt.Errorf("list connections: %w", err)
	}
	return list, nil
}

// Disconnect revokes a connection of an owner. ErrNotFound if there is none of that id.
func (db *DB) Disconnect(ctx context.Context, owner, id string) error {
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		return w.changeOr(ErrNotFound, `UPDATE channel_connection SET status = 'revoked', updated_at = ? WHERE id = ? AND owner = ?`,
			db.Now().UnixMilli(), id, owner)
	}})
	if err != nil {
		return fmt.Errorf("revoke connection %s: %w", id, err)
	}
	return nil
}

// DisconnectAll revokes the connections of a provider.
func (db *DB) DisconnectAll(ctx context.Context, provider string) error {
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		return w.exec(`UPDATE channel_connection SET status = 'revoked', updated_at = ?
			WHERE provider = ? AND status <> 'revoked'`, db.Now().UnixMilli(), provider)
	}})
	if err != nil {
		return fmt.Errorf("revoke the connections of %s: %w", provider, err)
	}
	return nil
}
