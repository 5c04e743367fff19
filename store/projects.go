package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Role is a user's role in a project.
type Role string

// The roles, each with the rights of the one before it.
const (
	Viewer       Role = "viewer"   // may read it and chat in it
	Editor       Role = "editor"   // may change its files and settings
	ProjectOwner Role = "owner"    // may delete and share it
	NoRole       Role = ""         // no access: it looks missing
	shelfPrefix       = "project." // see [ShelfOf]
)

// Writes reports whether a role may change files and settings.
func (r Role) Writes() bool { return r == Editor || r == ProjectOwner }

// Where facts go that are learned in the chats of a project.
const (
	MemoryProject  = "project"  // learns into the project; also reads the person's memory
	MemoryIsolated = "isolated" // learns into the project; reads nothing else
	MemoryPersonal = "personal" // uses the person's memory, as outside of projects
)

// Project is a folder of chats with its own files and settings.
type Project struct {
	ID        string
	Owner     string // "" is written as [DefaultOwner]
	Name      string
	Settings  ProjectSettings
	CreatedAt time.Time
	UpdatedAt time.Time
	Role      Role // role of the caller; not stored
	Chats     int  // chats of the caller in it; not stored
}

// ProjectSettings are shared by the chats of a project. Empty ones leave the choice to the chat.
type ProjectSettings struct {
	Icon         string   `json:"icon,omitempty"`
	Color        string   `json:"color,omitempty"`
	Instructions string   `json:"instructions,omitempty"`
	Agent        string   `json:"agent,omitempty"`
	Model        string   `json:"model,omitempty"`
	Skills       []string `json:"skills"`              // nil means all
	Servers      []string `json:"mcp_servers"`         // nil means all
	Knowledge    []string `json:"knowledge,omitempty"` // names of collections of documents
	Memory       string   `json:"memory,omitempty"`
	Writable     bool     `json:"writable,omitempty"` // chats may change the files
}

// Member is a user that a project is shared with, or a group as [GroupMember] names it.
type Member struct {
	ID   string
	Role Role
}

// ShelfOf returns the reserved name under which the files of a project are stored, in place of a thread's id. No
// thread can have it.
func ShelfOf(project string) string { return shelfPrefix + project }

// ShelfProject returns the project whose files are kept under a name made by [ShelfOf]; false for the names of threads and
// of collections.
func ShelfProject(shelf string) (project string, ok bool) {
	if IsCollectionShelf(shelf) {
		return "", false
	}
	return strings.CutPrefix(shelf, shelfPrefix)
}

// ProjectMemory names the owner of the facts learned from a user's chats in a project.
func ProjectMemory(person, project string) string {
	return orDefault(person, DefaultOwner) + "/" + project
}

// personalSpace has who lets a shared project's chats read their own memory, by the project's id, a space and the person's.
const personalSpace = "project_personal"

// PersonalMemory reports whether a person's chats in a project may read that person's own memory, and whether the
// project is shared: then the person must have allowed it.
func (db *DB) PersonalMemory(ctx context.Context, person, project string) (allowed, shared bool, err error) {
	var members, allows int
	err = db.queryRow(db.brief(ctx), `SELECT (SELECT count(*) FROM project_member WHERE project = ?),
		(SELECT count(*) FROM kv WHERE owner = ? AND space = ? AND key = ?)`,
		[]any{project, Global, personalSpace, project + " " + orDefault(person, DefaultOwner)}, &members, &allows)
	if err != nil {
		return false, false, fmt.Errorf("personal memory in project %s: %w", project, err)
	}
	return members == 0 || allows > 0, members > 0, nil
}

// AllowPersonalMemory sets whether a person's chats in a shared project may read that person's own memory.
// ErrNotFound if the person has no such project.
func (db *DB) AllowPersonalMemory(ctx context.Context, person, project string, allow bool) error {
	person = orDefault(person, DefaultOwner)
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		if err := w.mayUse(person, project); err != nil {
			return err
		}
		kv := KV{Owner: Global, Space: personalSpace, Key: project + " " + person}
		if allow {
			kv.Body = []byte("1")
		}
		return w.putKV([]KV{kv})
	}})
	if err != nil {
		return fmt.Errorf("allow personal memory in project %s: %w", project, err)
	}
	return nil
}

// HasProject reports whether a project exists.
func (db *DB) HasProject(ctx context.Context, id string) (bool, error) {
	var n int
	if err := db.queryRow(db.brief(ctx), `SELECT count(*) FROM project WHERE id = ?`, []any{id}, &n); err != nil {
		return false, fmt.Errorf("find project %s: %w", id, err)
	}
	return n > 0, nil
}

// SettleShelf removes file records written while a project was being deleted, and reports whether it is gone.
func (db *DB) SettleShelf(ctx context.Context, project string) (gone bool, err error) {
	if there, err := db.HasProject(ctx, project); there || err != nil {
		return false, err
	}
	if err := db.w.do(ctx, &job{apply: func(w *writer) error { return w.dropShelf(project) }}); err != nil {
		return true, fmt.Errorf("forget the files of project %s: %w", project, err)
	}
	return true, nil
}

// dropShelf deletes the rows about the files of a project.
func (w *writer) dropShelf(project string) error {
	shelf := ShelfOf(project)
	for _, query := range []string{`DELETE FROM tree WHERE thread = ?`, `DELETE FROM object_use WHERE thread = ?`} {
		if err := w.exec(query, shelf); err != nil {
			return err
		}
	}
	return w.dropKeys(DocumentSpace, shelf)
}

// dropKeys deletes the values of a space whose keys begin with a name and a space.
func (w *writer) dropKeys(space, name string) error {
	return w.exec(`DELETE FROM kv WHERE owner = '' AND space = ? AND key >= ? AND key < ?`, space, name+" ", name+"!")
}

const projectColumns = `p.id, p.owner, p.name, p.settings, p.created_at, p.updated_at`

// roleIn returns SQL for the highest role of a person, who is an SQL expression, and their groups in the project p.
func roleIn(person string) string {
	return `CASE WHEN p.owner = ` + person + ` THEN 'owner' ELSE coalesce((SELECT min(m.role) FROM project_member m
		WHERE m.project = p.id AND ` + namedFor(person) + `), '') END`
}

func scanProject(row scanner, more ...any) (p Project, err error) {
	var settings string
	var created, updated int64
	err = row.Scan(append([]any{&p.ID, &p.Owner, &p.Name, &settings, &created, &updated, &p.Role}, more...)...)
	if err = translate(err); err == nil {
		err = json.Unmarshal([]byte(settings), &p.Settings)
	}
	p.CreatedAt, p.UpdatedAt = fromMillis(created), fromMillis(updated)
	return p, err
}

// ProjectFor returns a project with a person's role in it, or ErrNotFound without one. All access to a project is
// checked here.
func (db *DB) ProjectFor(ctx context.Context, person, id string) (Project, error) {
	person = orDefault(person, DefaultOwner)
	p, err := scanProject(db.one(db.brief(ctx), `SELECT `+projectColumns+`, `+roleIn("?1")+` FROM project p WHERE p.id = ?2`,
		person, id))
	if err == nil && p.Role == NoRole {
		err = ErrNotFound
	}
	if err != nil {
		return Project{}, fmt.Errorf("project %s: %w", id, err)
	}
	return p, nil
}

// ProjectOf returns the project of a thread with the role of the thread's owner; one without an id for a missing
// thread or a thread without a project.
func (db *DB) ProjectOf(ctx context.Context, thread string) (Project, error) {
	list, err := rowsOf(db.brief(ctx), db, `SELECT `+projectColumns+`, `+roleIn("t.owner")+` FROM thread t
		JOIN project p ON p.id = t.project WHERE t.id = ? AND t.project <> ''`, []any{thread},
		func(rows scanner) (Project, error) { return scanProject(rows) })
	if err != nil {
		return Project{}, fmt.Errorf("project of thread %s: %w", thread, err)
	}
	if len(list) == 0 || list[0].Role == NoRole {
		return Project{}, nil
	}
	return list[0], nil
}

// Projects returns the projects that a user owns or shares, by name, with the number of the user's chats in each.
func (db *DB) Projects(ctx context.Context, person string) ([]Project, error) {
	person = orDefault(person, DefaultOwner)
	list, err := rowsOf(ctx, db, `SELECT `+projectColumns+`, `+roleIn("?1")+`, (SELECT count(*) FROM thread t WHERE t.project = p.id
		AND t.project <> '' AND t.owner = ?1 AND t.deleted_at = 0) FROM project p WHERE p.owner = ?1
		OR p.id IN (SELECT m.project FROM project_member m WHERE `+namedFor("?1")+`) ORDER BY lower(p.name), p.id`,
		[]any{person}, func(rows scanner) (p Project, err error) {
			n := 0
			p, err = scanProject(rows, &n)
			p.Chats = n
			return p, err
		})
	if err != nil {
		return nil, fmt.Errorf("list the projects of %s: %w", person, err)
	}
	return list, nil
}

// AllProjects calls visit with the id of every project until it returns an error.
func (db *DB) AllProjects(ctx context.Context, visit func(id string) error) error {
	err := db.each(ctx, `SELECT id FROM project ORDER BY id`, nil, func(rows *sql.Rows) (bool, error) {
		var id string
		err := rows.Scan(&id)
		if err == nil {
			err = visit(id)
		}
		return true, err
	})
	if err != nil {
		return fmt.Errorf("list all projects: %w", err)
	}
	return nil
}

// CreateProject writes a new project. ErrExists if its id is taken.
func (db *DB) CreateProject(ctx context.Context, p Project) error {
	settings, err := json.Marshal(p.Settings)
	if err != nil {
		return err
	}
	now := db.Now().UnixMilli()
	err = db.w.do(ctx, &job{apply: func(w *writer) error {
		return w.changeOr(ErrExists, `INSERT INTO project(id, owner, name, settings, created_at, updated_at)
			VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT(id) DO NOTHING`, p.ID, orDefault(p.Owner, DefaultOwner), p.Name,
			string(settings), now, now)
	}})
	if err != nil {
		return fmt.Errorf("create project %s: %w", p.ID, err)
	}
	return nil
}

// ChangeProject changes the current state of a project. ErrNotFound without write access; errors of change are
// returned.
func (db *DB) ChangeProject(ctx context.Context, person, id string, change func(*Project) error) (p Project, err error) {
	person = orDefault(person, DefaultOwner)
	err = db.w.do(ctx, &job{apply: func(w *writer) error {
		s, err := w.stmt(`SELECT ` + projectColumns + `, ` + roleIn("?1") + ` FROM project p WHERE p.id = ?2{lock}`)
		if err != nil {
			return err
		}
		p, err = scanProject(s.QueryRowContext(context.Background(), person, id))
		if err == nil && !p.Role.Writes() {
			err = ErrNotFound
		}
		if err == nil {
			err = change(&p)
		}
		if err != nil {
			return err
		}
		settings, err := json.Marshal(p.Settings)
		if err != nil {
			return err
		}
		p.UpdatedAt = db.Now().UTC().Truncate(time.Millisecond)
		return w.exec(`UPDATE project SET name = ?, settings = ?, updated_at = ? WHERE id = ?`, p.Name,
			string(settings), p.UpdatedAt.UnixMilli(), id)
	}})
	if err != nil {
		return Project{}, fmt.Errorf("change project %s: %w", id, err)
	}
	return p, nil
}

// PutInProject moves threads of a user into a project, or with project "" out of theirs. If the user doesn't have the
// project or all of the threads, nothing is moved and the error is ErrNotFound.
func (db *DB) PutInProject(ctx context.Context, person, project string, threads ...string) error {
	person = orDefault(person, DefaultOwner)
	threads = slices.Compact(slices.Sorted(slices.Values(threads)))
	list, err := json.Marshal(threads)
	if err != nil {
		return err
	}
	err = db.trash(ctx, func(w *writer) error {
		if project != "" {
			if err := w.mayUse(person, project); err != nil {
				return err
			}
		}
		n, err := w.change(`UPDATE thread SET project = ? WHERE id IN {list} AND owner = ? AND deleted_at = 0`, project,
			string(list), person)
		if err == nil && n != int64(len(threads)) {
			err = ErrNotFound
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("move chats to project %s: %w", project, err)
	}
	return nil
}

// mayUse returns ErrNotFound unless a person has a role in a project, and locks the role until the end of the
// transaction.
func (w *writer) mayUse(person, project string) error {
	s, err := w.stmt(`SELECT ` + projectColumns + `, ` + roleIn("?1") + ` FROM project p WHERE p.id = ?2{lock}`)
	if err != nil {
		return err
	}
	p, err := scanProject(s.QueryRowContext(context.Background(), person, project))
	if err == nil && p.Role == NoRole {
		err = ErrNotFound
	}
	return err
}

// ThreadsIn returns the threads that a person has in a project, or with person "" all of them.
func (db *DB) ThreadsIn(ctx context.Context, person, project string) (ids []string, err error) {
	ids, err = rowsOf(ctx, db, `SELECT id FROM thread WHERE project = ?1 AND project <> '' AND (owner = ?2 OR ?2 = '')
		AND deleted_at = 0 ORDER BY id`, []any{project, person}, func(rows scanner) (id string, err error) {
		err = rows.Scan(&id)
		return id, err
	})
	if err != nil {
		return nil, fmt.Errorf("list the chats of project %s: %w", project, err)
	}
	return ids, nil
}

// DeleteProject deletes a project of its owner with the facts learned in it. Its chats stay as ordinary chats; with
// discard, the owner's go to the trash as of at. also is written in the same commit, so that files can be removed after a
// crash, too. It returns the project's threads. ErrNotFound if the person doesn't own the project.
func (db *DB) DeleteProject(ctx context.Context, owner, id string, discard bool, at time.Time, also ...KV) (inside []string,
	err error) {
	owner = orDefault(owner, DefaultOwner)
	err = db.trash(ctx, func(w *writer) error {
		err := w.changeOr(ErrNotFound, `DELETE FROM project WHERE id = ? AND owner = ?`, id, owner)
		if err == nil {
			inside, err = w.threadsIn(id)
		}
		if err == nil && discard {
			err = w.exec(`UPDATE thread SET deleted_at = ?, project = '' WHERE project = ? AND project <> ''
				AND owner = ? AND deleted_at = 0`, at.UnixMilli(), id, owner)
		}
		if err != nil {
			return err
		}
		w.FreesMuch()
		err = w.overwriting(func() error {
			for _, q := range []struct {
				query string
				arg   string
			}{
				{`UPDATE thread SET project = '' WHERE project = ? AND project <> ''`, id},
				{`DELETE FROM project_member WHERE project = ?`, id},
				{`DELETE FROM fact WHERE substr(owner, length(owner) - length(?1) + 1) = ?1`, "/" + id},
				{`DELETE FROM memory WHERE substr(owner, length(owner) - length(?1) + 1) = ?1`, "/" + id},
			} {
				if err := w.exec(q.query, q.arg); err != nil {
					return err
				}
			}
			if err := w.dropKeys(personalSpace, id); err != nil {
				return err
			}
			return w.dropShelf(id)
		})
		if err != nil {
			return err
		}
		return w.putKV(also)
	})
	if err != nil {
		return nil, fmt.Errorf("delete project %s: %w", id, err)
	}
	return inside, nil
}

// threadsIn returns the current threads of a project.
func (w *writer) threadsIn(project string) (ids []string, err error) {
	s, err := w.stmt(`SELECT id FROM thread WHERE project = ? AND project <> '' AND deleted_at = 0 ORDER BY id`)
	if err != nil {
		return nil, err
	}
	rows, err := s.QueryContext(context.Background(), project)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// Members returns the members of a project.
func (db *DB) Members(ctx context.Context, project string) ([]Member, error) {
	list, err := db.members(ctx, `SELECT member, role FROM project_member WHERE project = ? ORDER BY member`, project)
	if err != nil {
		return nil, fmt.Errorf("list the members of project %s: %w", project, err)
	}
	return list, nil
}

func (db *DB) members(ctx context.Context, query, of string) ([]Member, error) {
	list, err := rowsOf(ctx, db, query, []any{of}, func(rows scanner) (m Member, err error) {
		err = rows.Scan(&m.ID, &m.Role)
		return m, err
	})
	return list, err
}

// ShareProject gives an account, or a group as named by [GroupMember], a role in the owner's project; [NoRole] revokes it
// and moves out the chats of people left without a role. ErrNotFound if the owner has no such project.
func (db *DB) ShareProject(ctx context.Context, owner, id, member string, role Role) error {
	owner = orDefault(owner, DefaultOwner)
	err := db.trash(ctx, func(w *writer) error {
		if err := w.there(`SELECT 1 FROM project WHERE id = ? AND owner = ?{lock}`, id, owner); err != nil || member == owner {
			return err
		}
		if role == NoRole {
			return w.leave(member, id)
		}
		return w.exec(`INSERT INTO project_member(project, member, role) VALUES (?, ?, ?)
			ON CONFLICT(project, member) DO UPDATE SET role = excluded.role`, id, member, string(role))
	})
	if err != nil {
		return fmt.Errorf("share project %s: %w", id, err)
	}
	return nil
}

// LeaveProject ends the role of a member or group in another person's project. ErrNotFound without a role.
func (db *DB) LeaveProject(ctx context.Context, member, id string) error {
	err := db.trash(ctx, func(w *writer) error {
		if err := w.changeOr(ErrNotFound, `UPDATE project_member SET role = role WHERE project = ? AND member = ?`, id, member); err != nil {
			return err
		}
		return w.leave(member, id)
	})
	if err != nil {
		return fmt.Errorf("leave project %s: %w", id, err)
	}
	return nil
}

func (w *writer) leave(member, id string) error {
	if err := w.exec(`DELETE FROM project_member WHERE project = ? AND member = ?`, id, member); err != nil {
		return err
	}
	return w.moveOut(id)
}

// moveOut removes the chats of people without a role from a project, with their settings for it.
func (w *writer) moveOut(id string) error {
	in := func(person string) string {
		return `EXISTS (SELECT 1 FROM project p WHERE p.id = ?1 AND (p.owner = ` + person + ` OR EXISTS (SELECT 1 FROM project_member m
			WHERE m.project = p.id AND ` + namedFor(person) + `)))`
	}
	err := w.exec(`UPDATE thread SET project = '' WHERE project = ?1 AND project <> '' AND NOT `+in("thread.owner"), id)
	if err != nil {
		return err
	}
	return w.exec(`DELETE FROM kv WHERE owner = '' AND space = ?2 AND key >= ?3 AND key < ?4 AND NOT `+
		in("substr(kv.key, length(p.id) + 2)"), id, personalSpace, id+" ", id+"!")
}

// ThreadRoles returns the threads of other owners in a project, and in those shared with a group, each with its owner's
// role.
func (db *DB) ThreadRoles(ctx context.Context, project, group string) (map[string]Role, error) {
	return db.threadRoles(ctx, `(p.id = ? OR p.id IN (SELECT s.project FROM project_member s WHERE s.member = ?))`, project,
		GroupMember(group))
}

// ThreadRolesOf returns the threads that a person has in projects of others, each with the role that the person has there.
func (db *DB) ThreadRolesOf(ctx context.Context, person string) (map[string]Role, error) {
	return db.threadRoles(ctx, `t.owner = ?`, person)
}

func (db *DB) threadRoles(ctx context.Context, where string, args ...any) (map[string]Role, error) {
	all := map[string]Role{}
	err := db.each(ctx, `SELECT t.id, `+roleIn("t.owner")+` FROM thread t JOIN project p ON p.id = t.project
		WHERE t.project <> '' AND t.owner <> p.owner AND `+where, args, func(rows *sql.Rows) (bool, error) {
		var id string
		var role Role
		err := rows.Scan(&id, &role)
		all[id] = role
		return true, err
	})
	if err != nil {
		return nil, fmt.Errorf("list roles in projects: %w", err)
	}
	return all, nil
}

// moveOutOf is moveOut for all projects shared with a group, whose members may have changed.
func (w *writer) moveOutOf(group string) error {
	s, err := w.stmt(`SELECT project FROM project_member WHERE member = ? ORDER BY project`)
	if err != nil {
		return err
	}
	list, err := w.ids(s, GroupMember(group))
	for _, id := range list {
		if err == nil {
			err = w.moveOut(id)
		}
	}
	return err
}
