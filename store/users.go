package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// User is an account.
type User struct {
	ID        string // owner id of its data
	Email     string // in lower case; no two users have the same
	Name      string
	Role      string // owner, admin or user
	Password  string // hash, "" if the user can't sign in with a password
	Disabled  bool
	CreatedAt time.Time
	UpdatedAt time.Time
}

const userColumns = `id, email, name, role, password, disabled, created_at, updated_at`

func scanUser(scan func(...any) error) (u User, err error) {
	var created, updated int64
	err = scan(&u.ID, &u.Email, &u.Name, &u.Role, &u.Password, &u.Disabled, &created, &updated)
	u.CreatedAt, u.UpdatedAt = fromMillis(created), fromMillis(updated)
	return u, err
}

// AddUser stores a new user. ErrExists if its id or e-mail address is taken, ErrConflict if there is
// no user yet: [DB.AddFirstUser] adds the first.
func (db *DB) AddUser(ctx context.Context, u User) (User, error) {
	now := db.Now().UnixMilli()
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		if err := w.ownerLeft(); err != nil {
			return err
		}
		return w.changeOr(ErrExists, `INSERT INTO "user"(`+userColumns+`) SELECT ?, ?, ?, ?, ?, ?, ?, ?
			WHERE NOT EXISTS (SELECT 1 FROM "user" WHERE email = ? OR id = ?)`,
			u.ID, u.Email, u.Name, u.Role, u.Password, u.Disabled, now, now, u.Email, u.ID)
	}})
	if err != nil {
		return User{}, fmt.Errorf("add user: %w", err)
	}
	return db.User(ctx, u.ID)
}

// AddFirstUser stores the owner of a server that has no user yet. ErrExists if it has one.
func (db *DB) AddFirstUser(ctx context.Context, u User) (User, error) {
	now := db.Now().UnixMilli()
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		return w.changeOr(ErrExists, `INSERT INTO "user"(`+userColumns+`) SELECT ?, ?, ?, ?, ?, 0, ?, ?
			WHERE NOT EXISTS (SELECT 1 FROM "user")`, DefaultOwner, u.Email, u.Name, u.Role, u.Password, now, now)
	}})
	if err != nil {
		return User{}, fmt.Errorf("add the first user: %w", err)
	}
	return db.User(ctx, DefaultOwner)
}

// User returns the user with an id, or ErrNotFound.
func (db *DB) User(ctx context.Context, id string) (User, error) {
	return db.oneUser(ctx, `SELECT `+userColumns+` FROM "user" WHERE id = ?`, id)
}

// UserByEmail returns the user with an e-mail address in lower case, or ErrNotFound.
func (db *DB) UserByEmail(ctx context.Context, email string) (User, error) {
	return db.oneUser(ctx, `SELECT `+userColumns+` FROM "user" WHERE email = ?`, email)
}

func (db *DB) oneUser(ctx context.Context, query, arg string) (u User, err error) {
	u, err = scanUser(db.one(db.brief(ctx), query, arg).Scan)
	if err != nil {
		return User{}, fmt.Errorf("user: %w", translate(err))
	}
	return u, nil
}

// Users lists all users, oldest first.
func (db *DB) Users(ctx context.Context) (list []User, err error) {
	query := `SELECT ` + userColumns + ` FROM "user" ORDER BY created_at, id`
	err = db.each(ctx, query, nil, func(rows *sql.Rows) (bool, error) {
		u, err := scanUser(rows.Scan)
		list = append(list, u)
		return true, err
	})
	if err != nil {
		return nil, fmt.Errorf("users: %w", err)
	}
	return list, nil
}

// HasUsers reports whether any account exists.
func (db *DB) HasUsers(ctx context.Context) (has bool, err error) {
	if err = db.queryRow(ctx, `SELECT EXISTS (SELECT 1 FROM "user")`, nil, &has); err != nil {
		return false, fmt.Errorf("users: %w", err)
	}
	return has, nil
}

// Barred reports whether an account is disabled. A missing one isn't.
func (db *DB) Barred(ctx context.Context, id string) (barred bool, err error) {
	query := `SELECT EXISTS (SELECT 1 FROM "user" WHERE id = ? AND disabled <> 0)`
	if err = db.queryRow(ctx, query, []any{orDefault(id, DefaultOwner)}, &barred); err != nil {
		return false, fmt.Errorf("user %s: %w", id, err)
	}
	return barred, nil
}

// ChangeUser applies change to a user; id, e-mail address and times are checked. ErrNotFound when it is not there,
// ErrExists when the new address is taken, ErrConflict when no enabled owner would be left. A user with a new role
// leaves the groups of the old one, and their chats leave the projects shared with these.
func (db *DB) ChangeUser(ctx context.Context, id string, change func(*User)) (out User, err error) {
	left := false
	err = db.w.do(ctx, &job{apply: func(w *writer) error {
		s, err := w.stmt(`SELECT ` + userColumns + ` FROM "user" WHERE id = ?`)
		if err != nil {
			return err
		}
		u, err := scanUser(s.QueryRowContext(context.Background(), id).Scan)
		if err != nil {
			return translate(err)
		}
		role := u.Role
		change(&u)
		now := db.Now().UnixMilli()
		if err := w.changeOr(ErrExists, `UPDATE "user" SET email = ?, name = ?, role = ?, password = ?, disabled = ?, updated_at = ?
			WHERE id = ? AND NOT EXISTS (SELECT 1 FROM "user" WHERE email = ? AND id <> ?)`,
			u.Email, u.Name, u.Role, u.Password, u.Disabled, now, id, u.Email, id); err != nil {
			return err
		}
		u.UpdatedAt, out = fromMillis(now), u
		if err := w.ownerLeft(); err != nil || u.Role == role {
			return err
		}
		left = true
		return w.leaveTeams(role)
	}, then: func(w *writer) {
		if left {
			w.listed.Add(1)
		}
	}})
	if err != nil {
		return User{}, fmt.Errorf("change user: %w", err)
	}
	return out, nil
}

// leaveTeams removes the chats of users who lost their role on the server from the projects shared with that role.
func (w *writer) leaveTeams(role string) error {
	s, err := w.stmt(`SELECT team FROM team_member WHERE member = ? ORDER BY team`)
	if err != nil {
		return err
	}
	list, err := w.ids(s, "role:"+role)
	for _, team := range list {
		if err == nil {
			err = w.moveOutOf(team)
		}
	}
	return err
}

// ownerLeft returns ErrConflict if no owner of the installation would remain.
func (w *writer) ownerLeft() error {
	s, err := w.stmt(`SELECT EXISTS (SELECT 1 FROM "user" WHERE role = 'owner' AND disabled = 0)`)
	if err != nil {
		return err
	}
	var left bool
	if err := s.QueryRowContext(context.Background()).Scan(&left); err != nil {
		return err
	}
	if !left {
		return ErrConflict
	}
	return nil
}

// DeleteUser deletes an account with its sessions, tokens, links, identities, factors and memberships; its data stays.
// ErrNotFound if it doesn't exist, ErrConflict if no enabled owner would remain.
func (db *DB) DeleteUser(ctx context.Context, id string) error {
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		if err := w.changeOr(ErrNotFound, `DELETE FROM "user" WHERE id = ?`, id); err != nil {
			return err
		}
		if err := w.ownerLeft(); err != nil {
			return err
		}
		for _, query := range []string{`DELETE FROM session WHERE "user" = ?`, `DELETE FROM token WHERE "user" = ?`,
			`DELETE FROM link WHERE "user" = ?`, `DELETE FROM identity WHERE "user" = ?`,
			`DELETE FROM factor WHERE "user" = ?`, `DELETE FROM team_member WHERE member = ?`} {
			if err := w.exec(query, id); err != nil {
				return err
			}
		}
		return nil
	}})
	if err != nil {
		return fmt.Errorf("delete user: %w", err)
	}
	return nil
}
