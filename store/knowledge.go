package store

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Collection is a collection of documents that projects and agents refer to by name.
type Collection struct {
	ID        string
	Owner     string // "" is written as [DefaultOwner]
	Name      string
	About     string
	CreatedAt time.Time
	UpdatedAt time.Time
	Role      Role // role of the caller; not stored
	Documents int  // number of documents; not stored
}

// collectionPrefix begins the shelf names of collections, see [ShelfOf].
const collectionPrefix = shelfPrefix + "knowledge-"

// groupPrefix begins the ids of groups in member rows of collections and projects.
const groupPrefix = "group:"

// CollectionShelf returns the reserved name for a collection's uploads and passages. No thread or project can have it.
func CollectionShelf(id string) string { return collectionPrefix + id }

// IsCollectionShelf reports whether a shelf or thread name belongs to a collection.
func IsCollectionShelf(name string) bool { return strings.HasPrefix(name, collectionPrefix) }

// HasShelf reports whether the project or collection of a shelf exists.
func (db *DB) HasShelf(ctx context.Context, shelf string) (bool, error) {
	id, ok := strings.CutPrefix(shelf, collectionPrefix)
	if !ok {
		return db.HasProject(ctx, strings.TrimPrefix(shelf, shelfPrefix))
	}
	var n int
	if err := db.queryRow(db.brief(ctx), `SELECT count(*) FROM knowledge WHERE id = ?`, []any{id}, &n); err != nil {
		return false, fmt.Errorf("find collection %s: %w", id, err)
	}
	return n > 0, nil
}

// GroupMember returns a group's id for member rows of collections and projects.
func GroupMember(id string) string { return groupPrefix + id }

// MemberGroup returns the group of a member row; ok is false for an account.
func MemberGroup(member string) (id string, ok bool) { return strings.CutPrefix(member, groupPrefix) }

const collectionColumns = `k.id, k.owner, k.name, k.about, k.created_at, k.updated_at`

// namedFor returns an SQL condition on member rows m that give a role to a person, who is an SQL expression: the person's
// own rows and those of their groups.
func namedFor(person string) string {
	return `(m.member = ` + person + ` OR m.member IN (SELECT 'group:' || g.team FROM team_member g WHERE g.member = ` + person + `
		OR g.member = 'role:' || (SELECT u.role FROM "user" u WHERE u.id = ` + person + `)))`
}

// roleInCollection returns SQL for the highest role that the person ?1 and their groups have in the collection k.
func roleInCollection() string {
	return `CASE WHEN k.owner = ?1 THEN 'owner' ELSE coalesce((SELECT min(m.role) FROM knowledge_member m
		WHERE m.knowledge = k.id AND ` + namedFor("?1") + `), '') END`
}

const documentsIn = `(SELECT count(*) FROM knowledge_doc d WHERE d.knowledge = k.id AND ` + living + `)`

func scanCollection(row scanner) (c Collection, err error) {
	var created, updated int64
	err = translate(row.Scan(&c.ID, &c.Owner, &c.Name, &c.About, &created, &updated, &c.Role, &c.Documents))
	c.CreatedAt, c.UpdatedAt = fromMillis(created), fromMillis(updated)
	return c, err
}

// CollectionFor returns a collection with a person's role in it, or ErrNotFound without one. All access to a collection
// is checked here.
func (db *DB) CollectionFor(ctx context.Context, person, id string) (Collection, error) {
	c, err := scanCollection(db.one(db.brief(ctx), `SELECT `+collectionColumns+`, `+roleInCollection()+`, `+documentsIn+`
		FROM knowledge k WHERE k.id = ?2`, orDefault(person, DefaultOwner), id))
	if err == nil && c.Role == NoRole {
		err = ErrNotFound
	}
	if err != nil {
		return Collection{}, fmt.Errorf("collection %s: %w", id, err)
	}
	return c, nil
}

// Collections returns the collections that a person owns or shares, by name.
func (db *DB) Collections(ctx context.Context, person string) ([]Collection, error) {
	list, err := rowsOf(db.brief(ctx), db, `SELECT `+collectionColumns+`, `+roleInCollection()+`, `+documentsIn+` FROM knowledge k
		WHERE k.owner = ?1 OR k.id IN (SELECT m.knowledge FROM knowledge_member m WHERE `+namedFor("?1")+`)
		ORDER BY lower(k.name), k.id`, []any{orDefault(person, DefaultOwner)}, scanCollection)
	if err != nil {
		return nil, fmt.Errorf("list the collections of %s: %w", person, err)
	}
	return list, nil
}

// AllCollections calls visit with the id of every collection until it returns an error. Nothing is read meanwhile, so
// visit may take its time.
func (db *DB) AllCollections(ctx context.Context, visit func(id string) error) error {
	ids, err := rowsOf(ctx, db, `SELECT id FROM knowledge ORDER BY id`, nil, func(rows scanner) (id string, err error) {
		err = rows.Scan(&id)
		return id, err
	})
	if err != nil {
		return fmt.Errorf("list all collections: %w", err)
	}
	for _, id := range ids {
		if err := visit(id); err != nil {
			return err
		}
	}
	return nil
}

// CreateCollection stores a new collection with its source of uploads. ErrExists if the id is taken, or the owner has
// another collection with this name.
func (db *DB) CreateCollection(ctx context.Context, c Collection, uploads string) error {
	owner, now := orDefault(c.Owner, DefaultOwner), db.Now().UnixMilli()
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		if err := w.nameFree(owner, c.Name, c.ID); err != nil {
			return err
		}
		if err := w.changeOr(ErrExists, `INSERT INTO knowledge(id, owner, name, about, created_at, updated_at)
			VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT(id) DO NOTHING`, c.ID, owner, c.Name, c.About, now, now); err != nil {
			return err
		}
		return w.addSource(Source{ID: uploads, Collection: c.ID, Kind: UploadSource, State: SourceReady})
	}})
	if err != nil {
		return fmt.Errorf("create collection %s: %w", c.ID, err)
	}
	return nil
}

// nameFree returns ErrExists if an owner has another collection with this name.
func (w *writer) nameFree(owner, name, id string) error {
	s, err := w.stmt(`SELECT count(*) FROM knowledge WHERE owner = ? AND lower(name) = lower(?) AND id <> ?`)
	if err != nil {
		return err
	}
	var n int
	if err := s.QueryRowContext(context.Background(), owner, name, id).Scan(&n); err != nil {
		return err
	}
	if n > 0 {
		return ErrExists
	}
	return nil
}

// ChangeCollection changes the current name and description of a collection. ErrNotFound without write access, ErrExists
// if the owner has another collection with the new name; errors of change are returned.
func (db *DB) ChangeCollection(ctx context.Context, person, id string, change func(*Collection) error) (c Collection, err error) {
	person = orDefault(person, DefaultOwner)
	err = db.w.do(ctx, &job{apply: func(w *writer) error {
		s, err := w.stmt(`SELECT ` + collectionColumns + `, ` + roleInCollection() + `, ` + documentsIn + `
			FROM knowledge k WHERE k.id = ?2{lock}`)
		if err != nil {
			return err
		}
		c, err = scanCollection(s.QueryRowContext(context.Background(), person, id))
		if err == nil && !c.Role.Writes() {
			err = ErrNotFound
		}
		if err == nil {
			err = change(&c)
		}
		if err == nil {
			err = w.nameFree(c.Owner, c.Name, id)
		}
		if err != nil {
			return err
		}
		c.UpdatedAt = db.Now().UTC().Truncate(time.Millisecond)
		return w.exec(`UPDATE knowledge SET name = ?, about = ?, updated_at = ? WHERE id = ?`, c.Name, c.About,
			c.UpdatedAt.UnixMilli(), id)
	}})
	if err != nil {
		return Collection{}, fmt.Errorf("change collection %s: %w", id, err)
	}
	return c, nil
}

// DeleteCollection deletes a collection of its owner. Its documents then have no source and are no longer found;
// [DB.StrayDocuments] lists them for removal. also is written in the same commit, so that files can be removed after a
// crash, too. ErrNotFound if the person doesn't own the collection.
func (db *DB) DeleteCollection(ctx context.Context, owner, id string, also ...KV) error {
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		if err := w.changeOr(ErrNotFound, `DELETE FROM knowledge WHERE id = ? AND owner = ?`, id, orDefault(owner, DefaultOwner)); err != nil {
			return err
		}
		for _, query := range []string{`DELETE FROM knowledge_member WHERE knowledge = ?`, `DELETE FROM knowledge_source WHERE knowledge = ?`} {
			if err := w.exec(query, id); err != nil {
				return err
			}
		}
		if err := w.dropCollectionFiles(id); err != nil {
			return err
		}
		return w.putKV(also)
	}})
	if err != nil {
		return fmt.Errorf("delete collection %s: %w", id, err)
	}
	return nil
}

// dropCollectionFiles deletes the rows about the files of a collection.
func (w *writer) dropCollectionFiles(id string) error {
	for _, query := range []string{`DELETE FROM tree WHERE thread = ?`, `DELETE FROM object_use WHERE thread = ?`} {
		if err := w.exec(query, CollectionShelf(id)); err != nil {
			return err
		}
	}
	return nil
}

// SettleCollection removes file records written while the collection was being deleted, and reports whether it is gone.
func (db *DB) SettleCollection(ctx context.Context, id string) (gone bool, err error) {
	if there, err := db.HasShelf(ctx, CollectionShelf(id)); there || err != nil {
		return false, err
	}
	if err := db.w.do(ctx, &job{apply: func(w *writer) error { return w.dropCollectionFiles(id) }}); err != nil {
		return true, fmt.Errorf("forget the files of collection %s: %w", id, err)
	}
	return true, nil
}

// CollectionMembers returns the members of a collection.
func (db *DB) CollectionMembers(ctx context.Context, id string) ([]Member, error) {
	list, err := db.members(ctx, `SELECT member, role FROM knowledge_member WHERE knowledge = ? ORDER BY member`, id)
	if err != nil {
		return nil, fmt.Errorf("list the members of collection %s: %w", id, err)
	}
	return list, nil
}

// ShareCollection gives an account, or a group as named by [GroupMember], a role in the owner's collection; [NoRole]
// revokes it. ErrNotFound if the owner has no such collection.
func (db *DB) ShareCollection(ctx context.Context, owner, id, member string, role Role) error {
	owner = orDefault(owner, DefaultOwner)
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		if err := w.there(`SELECT 1 FROM knowledge WHERE id = ? AND owner = ?{lock}`, id, owner); err != nil || member == owner {
			return err
		}
		if role == NoRole {
			return w.exec(`DELETE FROM knowledge_member WHERE knowledge = ? AND member = ?`, id, member)
		}
		return w.exec(`INSERT INTO knowledge_member(knowledge, member, role) VALUES (?, ?, ?)
			ON CONFLICT(knowledge, member) DO UPDATE SET role = excluded.role`, id, member, string(role))
	}})
	if err != nil {
		return fmt.Errorf("share collection %s: %w", id, err)
	}
	return nil
}

// LeaveCollection ends a member's own role in another person's collection. ErrNotFound without a role.
func (db *DB) LeaveCollection(ctx context.Context, member, id string) error {
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		return w.changeOr(ErrNotFound, `DELETE FROM knowledge_member WHERE knowledge = ? AND member = ?`, id, member)
	}})
	if err != nil {
		return fmt.Errorf("leave collection %s: %w", id, err)
	}
	return nil
}
