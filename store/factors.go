package store

import (
	"context"
	"fmt"
	"time"
)

// Link grants its bearer the right to do something once.
type Link struct {
	Hash      []byte // hash of the token in the address
	Kind      string // setup, invite or reset
	User      string // user whose password it sets
	Email     string // e-mail address of the future user
	Role      string // role of the future user
	CreatedAt time.Time
	ExpiresAt time.Time
}

// Identity is a user's identity at a sign-in service.
type Identity struct {
	Issuer, Subject string
	User            string
	Email           string
	CreatedAt       time.Time
}

// Factor is a second proof of a user besides the password.
type Factor struct {
	ID        string
	User      string
	Kind      string // totp, recovery or passkey
	Ref       string // the device's reference, "" for none; unique per kind
	Name      string
	Data      []byte
	Step      int64 // last used step
	Confirmed bool
	CreatedAt time.Time
	UsedAt    time.Time // zero: never
}

// PutLink stores a link. It deletes expired ones, and earlier ones of the same kind for the same user or address except
// for the newest keep.
func (db *DB) PutLink(ctx context.Context, l Link, keep int) error {
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		err := w.exec(`DELETE FROM link WHERE expires_at <= ? OR kind = ? AND "user" = ? AND email = ? AND hash NOT IN
			(SELECT hash FROM link WHERE kind = ? AND "user" = ? AND email = ? ORDER BY created_at DESC, hash LIMIT ?)`,
			l.CreatedAt.UnixMilli(), l.Kind, l.User, l.Email, l.Kind, l.User, l.Email, keep)
		if err != nil {
			return err
		}
		return w.exec(`INSERT INTO link(hash, kind, "user", email, role, created_at, expires_at)
			VALUES (?, ?, ?, ?, ?, ?, ?)`,
			l.Hash, l.Kind, l.User, l.Email, l.Role, l.CreatedAt.UnixMilli(), l.ExpiresAt.UnixMilli())
	}})
	if err != nil {
		return fmt.Errorf("store link: %w", err)
	}
	return nil
}

// LinkByHash returns a link, expired or not, or ErrNotFound.
func (db *DB) LinkByHash(ctx context.Context, hash []byte) (l Link, err error) {
	var created, expires int64
	err = db.queryRow(ctx, `SELECT hash, kind, "user", email, role, created_at, expires_at FROM link WHERE hash = ?`,
		[]any{hash}, &l.Hash, &l.Kind, &l.User, &l.Email, &l.Role, &created, &expires)
	if err != nil {
		return Link{}, fmt.Errorf("link: %w", err)
	}
	l.CreatedAt, l.ExpiresAt = fromMillis(created), fromMillis(expires)
	return l, nil
}

// TakeLink removes a link: the caller without an error may use it, and no one else. ErrNotFound if it is gone.
func (db *DB) TakeLink(ctx context.Context, hash []byte) error {
	return db.deleteOne(ctx, "use link", `DELETE FROM link WHERE hash = ?`, hash)
}

// AddIdentity binds an identity to a user. ErrConflict if it is bound already, ErrNotFound if the user
// doesn't exist.
func (db *DB) AddIdentity(ctx context.Context, i Identity) error {
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		return translate(w.changeOr(ErrNotFound, `INSERT INTO identity(issuer, subject, "user", email, created_at) SELECT ?, ?, ?, ?, ?
			WHERE EXISTS (SELECT 1 FROM "user" WHERE id = ?)`, i.Issuer, i.Subject, i.User, i.Email,
			orNow(i.CreatedAt, db.Now().UnixMilli()), i.User))
	}})
	if err != nil {
		return fmt.Errorf("add identity: %w", err)
	}
	return nil
}

// Identity returns a service's identity for a subject, or ErrNotFound.
func (db *DB) Identity(ctx context.Context, issuer, subject string) (Identity, error) {
	list, err := db.identities(ctx, `SELECT issuer, subject, "user", email, created_at FROM identity
		WHERE issuer = ? AND subject = ?`, issuer, subject)
	if err == nil && len(list) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return Identity{}, fmt.Errorf("identity: %w", err)
	}
	return list[0], nil
}

// Identities lists a user's, oldest first.
func (db *DB) Identities(ctx context.Context, user string) ([]Identity, error) {
	list, err := db.identities(ctx, `SELECT issuer, subject, "user", email, created_at FROM identity
		WHERE "user" = ? ORDER BY created_at, issuer, subject`, user)
	if err != nil {
		return nil, fmt.Errorf("identities: %w", err)
	}
	return list, nil
}

func (db *DB) identities(ctx context.Context, query string, args ...any) (list []Identity, err error) {
	list, err = rowsOf(ctx, db, query, args, func(rows scanner) (i Identity, err error) {
		var created int64
		err = rows.Scan(&i.Issuer, &i.Subject, &i.User, &i.Email, &created)
		i.CreatedAt = fromMillis(created)
		return i, err
	})
	return list, err
}

// DeleteIdentity removes an identity from a user. ErrNotFound if the user doesn't have it.
func (db *DB) DeleteIdentity(ctx context.Context, user, issuer, subject string) error {
	return db.deleteOne(ctx, "delete identity", `DELETE FROM identity WHERE "user" = ? AND issuer = ? AND subject = ?`,
		user, issuer, subject)
}

// AddFactor stores a factor of a user. ErrConflict if its ref is taken, ErrNotFound if the user
// doesn't exist.
func (db *DB) AddFactor(ctx context.Context, f Factor) error {
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		return translate(w.changeOr(ErrNotFound, `INSERT INTO factor(id, "user", kind, ref, name, data, step, confirmed, created_at)
			SELECT ?, ?, ?, ?, ?, ?, ?, ?, ? WHERE EXISTS (SELECT 1 FROM "user" WHERE id = ?)`,
			f.ID, f.User, f.Kind, f.Ref, f.Name, blob(f.Data), f.Step, f.Confirmed,
			orNow(f.CreatedAt, db.Now().UnixMilli()), f.User))
	}})
	if err != nil {
		return fmt.Errorf("add factor: %w", err)
	}
	return nil
}

const factorColumns = `SELECT id, "user", kind, ref, name, data, step, confirmed, created_at, used_at FROM factor `

// Factors lists a user's of one kind, or of all when kind is "", oldest first.
func (db *DB) Factors(ctx context.Context, user, kind string) ([]Factor, error) {
	list, err := db.factors(ctx, factorColumns+`WHERE "user" = ? AND (? = '' OR kind = ?) ORDER BY created_at, id`,
		user, kind, kind)
	if err != nil {
		return nil, fmt.Errorf("factors: %w", err)
	}
	return list, nil
}

// FactorByRef returns the factor of a kind that a device presents, or ErrNotFound.
func (db *DB) FactorByRef(ctx context.Context, kind, ref string) (Factor, error) {
	list, err := db.factors(ctx, factorColumns+`WHERE kind = ? AND ref = ? AND ref <> ''`, kind, ref)
	if err == nil && len(list) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return Factor{}, fmt.Errorf("factor: %w", err)
	}
	return list[0], nil
}

func (db *DB) factors(ctx context.Context, query string, args ...any) (list []Factor, err error) {
	list, err = rowsOf(ctx, db, query, args, func(rows scanner) (f Factor, err error) {
		var created, used int64
		err = rows.Scan(&f.ID, &f.User, &f.Kind, &f.Ref, &f.Name, &f.Data, &f.Step, &f.Confirmed, &created, &used)
		f.CreatedAt, f.UsedAt, f.Data = fromMillis(created), fromMillis(used), blob(f.Data)
		return f, err
	})
	return list, err
}

// UseFactor stores a use of a factor: its data, step, confirmation and time. ErrConflict if its step is no longer
// before: only one of two concurrent uses succeeds.
func (db *DB) UseFactor(ctx context.Context, f Factor, before int64) error {
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		return w.changeOr(ErrConflict, `UPDATE factor SET data = ?, step = ?, confirmed = ?, used_at = ?
			WHERE id = ? AND "user" = ? AND step = ?`, blob(f.Data), f.Step, f.Confirmed,
			orNow(f.UsedAt, db.Now().UnixMilli()), f.ID, f.User, before)
	}})
	if err != nil {
		return fmt.Errorf("use factor: %w", err)
	}
	return nil
}

// DeleteFactor removes a factor from a user. ErrNotFound if the user doesn't have it: of two concurrent uses of a
// recovery code only one succeeds.
func (db *DB) DeleteFactor(ctx context.Context, user, id string) error {
	return db.deleteOne(ctx, "delete factor", `DELETE FROM factor WHERE "user" = ? AND id = ?`, user, id)
}

// DeleteFactors removes all factors of a kind from a user.
func (db *DB) DeleteFactors(ctx context.Context, user, kind string) error {
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		return w.exec(`DELETE FROM factor WHERE "user" = ? AND kind = ?`, user, kind)
	}})
	if err != nil {
		return fmt.Errorf("delete factors: %w", err)
	}
	return nil
}
