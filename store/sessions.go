package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// Session is a browser or program in which a user is signed in.
type Session struct {
	ID        string
	Hash      []byte // hash of the cookie's token
	User      string
	Device    string // its user agent
	IP        string // address of its last use
	Lasting   bool   // it survives closing the browser
	CreatedAt time.Time
	UsedAt    time.Time
	ExpiresAt time.Time
}

// Token lets a program act for a user.
type Token struct {
	ID        string
	Hash      []byte // hash of the secret
	User      string
	Name      string
	Scope     string // read or write
	CreatedAt time.Time
	UsedAt    time.Time // zero: never
	ExpiresAt time.Time // zero: never
}

const (
	sessionColumns = `s.id, s.hash, s.user, s.device, s.ip, s.lasting, s.created_at, s.used_at, s.expires_at`
	tokenColumns   = `t.id, t.hash, t.user, t.name, t.scope, t.created_at, t.used_at, t.expires_at`
	withUser       = `, u.id, u.email, u.name, u.role, u.password, u.disabled, u.created_at, u.updated_at`
)

func scanSession(scan func(...any) error, more ...any) (s Session, err error) {
	var created, used, expires int64
	into := []any{&s.ID, &s.Hash, &s.User, &s.Device, &s.IP, &s.Lasting, &created, &used, &expires}
	err = scan(append(into, more...)...)
	s.CreatedAt, s.UsedAt, s.ExpiresAt = fromMillis(created), fromMillis(used), fromMillis(expires)
	return s, err
}

func scanToken(scan func(...any) error, more ...any) (t Token, err error) {
	var created, used, expires int64
	err = scan(append([]any{&t.ID, &t.Hash, &t.User, &t.Name, &t.Scope, &created, &used, &expires}, more...)...)
	t.CreatedAt, t.UsedAt, t.ExpiresAt = fromMillis(created), fromMillis(used), fromMillis(expires)
	return t, err
}

// userFields returns the scan targets of a row's user; set builds the user.
func userFields() (into []any, made func() User) {
	var u User
	var created, updated int64
	return []any{&u.ID, &u.Email, &u.Name, &u.Role, &u.Password, &u.Disabled, &created, &updated}, func() User {
		u.CreatedAt, u.UpdatedAt = fromMillis(created), fromMillis(updated)
		return u
	}
}

// PutSession stores a new session, and deletes its user's expired ones and the longest unused beyond most. A session of
// a missing or disabled user is ErrNotFound.
func (db *DB) PutSession(ctx context.Context, s Session, most int) error {
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		if err := w.changeOr(ErrNotFound, `INSERT INTO session(id, hash, "user", device, ip, lasting, created_at, used_at, expires_at)
			SELECT ?, ?, ?, ?, ?, ?, ?, ?, ? WHERE EXISTS (SELECT 1 FROM "user" WHERE id = ? AND disabled = 0)`,
			s.ID, s.Hash, s.User, s.Device, s.IP, s.Lasting, s.CreatedAt.UnixMilli(), s.UsedAt.UnixMilli(),
			s.ExpiresAt.UnixMilli(), s.User); err != nil {
			return err
		}
		err := w.exec(`DELETE FROM session WHERE "user" = ? AND expires_at <= ?`, s.User, s.CreatedAt.UnixMilli())
		if err != nil {
			return err
		}
		return w.exec(`DELETE FROM session WHERE "user" = ? AND id NOT IN
			(SELECT id FROM session WHERE "user" = ? ORDER BY used_at DESC, id LIMIT ?)`, s.User, s.User, most)
	}})
	if err != nil {
		return fmt.Errorf("store session: %w", err)
	}
	return nil
}

// TouchSession records when a session was used, from where, and its new end.
func (db *DB) TouchSession(ctx context.Context, id, ip string, used, expires time.Time) error {
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		return w.exec(`UPDATE session SET ip = ?, used_at = ?, expires_at = ? WHERE id = ?`, ip, used.UnixMilli(),
			expires.UnixMilli(), id)
	}})
	if err != nil {
		return fmt.Errorf("touch session: %w", err)
	}
	return nil
}

// SessionByHash returns a session, expired or not, and its user, or ErrNotFound.
func (db *DB) SessionByHash(ctx context.Context, hash []byte) (s Session, u User, err error) {
	into, made := userFields()
	s, err = scanSession(db.one(db.brief(ctx), `SELECT `+sessionColumns+withUser+`
		FROM session s JOIN "user" u ON u.id = s.user WHERE s.hash = ?`, hash).Scan, into...)
	if err != nil {
		return Session{}, User{}, fmt.Errorf("session: %w", translate(err))
	}
	return s, made(), nil
}

// Sessions lists a user's valid sessions, last used first.
func (db *DB) Sessions(ctx context.Context, user string, now time.Time) (list []Session, err error) {
	err = db.each(ctx, `SELECT `+sessionColumns+` FROM session s WHERE s.user = ? AND s.expires_at > ?
		ORDER BY s.used_at DESC, s.id`, []any{user, now.UnixMilli()}, func(rows *sql.Rows) (bool, error) {
		s, err := scanSession(rows.Scan)
		list = append(list, s)
		return true, err
	})
	if err != nil {
		return nil, fmt.Errorf("sessions: %w", err)
	}
	return list, nil
}

// DeleteSession ends a session of a user. ErrNotFound if the user doesn't have it.
func (db *DB) DeleteSession(ctx context.Context, user, id string) error {
	return db.deleteOne(ctx, "end session", `DELETE FROM session WHERE "user" = ? AND id = ?`, user, id)
}

// DeleteSessions ends all sessions of a user but one, which may be "".
func (db *DB) DeleteSessions(ctx context.Context, user, but string) error {
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		return w.exec(`DELETE FROM session WHERE "user" = ? AND id <> ?`, user, but)
	}})
	if err != nil {
		return fmt.Errorf("end sessions: %w", err)
	}
	return nil
}

// AddToken stores a token. ErrNotFound if its user doesn't exist, ErrConflict if it already has most
// tokens.
func (db *DB) AddToken(ctx context.Context, t Token, most int) error {
	var expires int64
	if !t.ExpiresAt.IsZero() {
		expires = t.ExpiresAt.UnixMilli()
	}
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		return w.changeOr(ErrConflict, `INSERT INTO token(id, hash, "user", name, scope, created_at, expires_at)
			SELECT ?, ?, ?, ?, ?, ?, ? WHERE (SELECT count(*) FROM token WHERE "user" = ?) < ?`,
			t.ID, t.Hash, t.User, t.Name, t.Scope, t.CreatedAt.UnixMilli(), expires, t.User, most)
	}})
	if err != nil {
		return fmt.Errorf("add token: %w", err)
	}
	return nil
}

// TokenByHash returns a token, expired or not, and its user, or ErrNotFound.
func (db *DB) TokenByHash(ctx context.Context, hash []byte) (t Token, u User, err error) {
	into, made := userFields()
	t, err = scanToken(db.one(db.brief(ctx), `SELECT `+tokenColumns+withUser+`
		FROM token t JOIN "user" u ON u.id = t.user WHERE t.hash = ?`, hash).Scan, into...)
	if err != nil {
		return Token{}, User{}, fmt.Errorf("token: %w", translate(err))
	}
	return t, made(), nil
}

// Tokens lists a user's, newest first.
func (db *DB) Tokens(ctx context.Context, user string) (list []Token, err error) {
	err = db.each(ctx, `SELECT `+tokenColumns+` FROM token t WHERE t.user = ? ORDER BY t.created_at DESC, t.id`,
		[]any{user}, func(rows *sql.Rows) (bool, error) {
			t, err := scanToken(rows.Scan)
			list = append(list, t)
			return true, err
		})
	if err != nil {
		return nil, fmt.Errorf("tokens: %w", err)
	}
	return list, nil
}

// TouchToken records that a token was used.
func (db *DB) TouchToken(ctx context.Context, id string, used time.Time) error {
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		return w.exec(`UPDATE token SET used_at = ? WHERE id = ?`, used.UnixMilli(), id)
	}})
	if err != nil {
		return fmt.Errorf("touch token: %w", err)
	}
	return nil
}

// DeleteToken revokes a token of a user. ErrNotFound if the user doesn't have it.
func (db *DB) DeleteToken(ctx context.Context, user, id string) error {
	return db.deleteOne(ctx, "revoke token", `DELETE FROM token WHERE "user" = ? AND id = ?`, user, id)
}

// deleteOne runs a constant statement that removes a row; ErrNotFound if there was none.
func (db *DB) deleteOne(ctx context.Context, what, query string, args ...any) error {
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		return w.changeOr(ErrNotFound, query, args...)
	}})
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
