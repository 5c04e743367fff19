package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"
)

// Team is a group of accounts and its rights.
type Team struct {
	ID        string
	Name      string // unique
	Rules     json.RawMessage
	Members   []string // ids of accounts, and "role:NAME" for everybody with that role
	CreatedAt time.Time
}

// teamColumns selects one row per member; a team without members has one with an empty name.
const teamColumns = `t.id, t.name, t.rules, t.created_at, coalesce(m.member, '')`

// Teams returns all teams by name.
func (db *DB) Teams(ctx context.Context) ([]Team, error) {
	return db.teams(ctx, `SELECT `+teamColumns+` FROM team t LEFT JOIN team_member m ON m.team = t.id
		ORDER BY t.name, t.id, m.member`)
}

// Team returns one of them, or ErrNotFound.
func (db *DB) Team(ctx context.Context, id string) (Team, error) {
	list, err := db.teams(ctx, `SELECT `+teamColumns+` FROM team t LEFT JOIN team_member m ON m.team = t.id
		WHERE t.id = ? ORDER BY m.member`, id)
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("team: %w", ErrNotFound)
	}
	if err != nil {
		return Team{}, err
	}
	return list[0], nil
}

// TeamsOf returns the role of an account and its teams, by itself or by that role, without their members. The role is ""
// for a missing account.
func (db *DB) TeamsOf(ctx context.Context, user string) (role string, list []Team, err error) {
	err = db.each(db.brief(ctx), `SELECT u.role, coalesce(t.id, ''), coalesce(t.name, ''), coalesce(t.rules, '')
		FROM "user" u LEFT JOIN team t ON t.id IN (SELECT m.team FROM team_member m
			WHERE m.member = u.id OR m.member = 'role:' || u.role)
		WHERE u.id = ? ORDER BY 3, 2`, []any{user}, func(rows *sql.Rows) (bool, error) {
		var t Team
		var rules []byte
		err := rows.Scan(&role, &t.ID, &t.Name, &rules)
		if t.ID != "" {
			t.Rules = rules
			list = append(list, t)
		}
		return true, err
	})
	if err != nil {
		return "", nil, fmt.Errorf("teams of user %s: %w", user, err)
	}
	return role, list, nil
}

func (db *DB) teams(ctx context.Context, query string, args ...any) (list []Team, err error) {
	err = db.each(ctx, query, args, func(rows *sql.Rows) (bool, error) {
		var t Team
		var created int64
		var rules []byte
		var member string
		if err := rows.Scan(&t.ID, &t.Name, &rules, &created, &member); err != nil {
			return false, err
		}
		if n := len(list); n == 0 || list[n-1].ID != t.ID {
			t.Rules, t.CreatedAt = rules, fromMillis(created)
			list = append(list, t)
		}
		if member != "" {
			last := &list[len(list)-1]
			last.Members = append(last.Members, member)
		}
		return true, nil
	})
	if err != nil {
		return nil, fmt.Errorf("list teams: %w", err)
	}
	return list, nil
}

// PutTeam creates or replaces a team with its members. People left without a role in a project take their chats along.
// ErrExists if another team has its name.
func (db *DB) PutTeam(ctx context.Context, t Team) error {
	now := db.Now().UnixMilli()
	err := db.trash(ctx, func(w *writer) error {
		if err := w.changeOr(ErrExists, `INSERT INTO team(id, name, rules, created_at, updated_at) SELECT ?, ?, ?, ?, ?
			WHERE NOT EXISTS (SELECT 1 FROM team WHERE name = ? AND id <> ?)
			ON CONFLICT (id) DO UPDATE SET name = excluded.name, rules = excluded.rules, updated_at = excluded.updated_at`,
			t.ID, t.Name, string(t.Rules), now, now, t.Name, t.ID); err != nil {
			return err
		}
		if err := w.exec(`DELETE FROM team_member WHERE team = ?`, t.ID); err != nil {
			return err
		}
		for _, m := range t.Members {
			if err := w.exec(`INSERT INTO team_member(team, member) VALUES (?, ?) ON CONFLICT DO NOTHING`, t.ID, m); err != nil {
				return err
			}
		}
		return w.moveOutOf(t.ID)
	})
	if err != nil {
		return fmt.Errorf("write team: %w", err)
	}
	return nil
}

// DeleteTeam removes a team; its members stay, prompts shared with it become private, and collections and projects are no
// longer shared with it. ErrNotFound if it doesn't exist.
func (db *DB) DeleteTeam(ctx context.Context, id string) error {
	err := db.trash(ctx, func(w *writer) error {
		if err := w.changeOr(ErrNotFound, `DELETE FROM team WHERE id = ?`, id); err != nil {
			return err
		}
		if err := w.exec(`UPDATE saved_prompt SET shared = '' WHERE shared = ?`, id); err != nil {
			return err
		}
		if err := w.exec(`DELETE FROM knowledge_member WHERE member = ?`, GroupMember(id)); err != nil {
			return err
		}
		if err := w.exec(`DELETE FROM team_member WHERE team = ?`, id); err != nil {
			return err
		}
		if err := w.moveOutOf(id); err != nil {
			return err
		}
		return w.exec(`DELETE FROM project_member WHERE member = ?`, GroupMember(id))
	})
	if err != nil {
		return fmt.Errorf("delete team: %w", err)
	}
	return nil
}

// lateRuns is how long before a day runs may have been created whose tokens count for it, because they end
// in it.
const lateRuns = 7 * 24 * time.Hour

// live begins the ids of rows about runs that haven't ended.
const live = "live "

// CountUsed adds a run's tokens to what [DB.Used] counts, until the run ends and its own row has them.
func (db *DB) CountUsed(ctx context.Context, owner, run string, tokens int64) error {
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		return w.exec(`INSERT INTO used(id, owner, at, runs, tokens) VALUES (?, ?, ?, 0, ?)
			ON CONFLICT(id) DO UPDATE SET at = excluded.at, tokens = used.tokens + excluded.tokens`,
			live+run, orDefault(owner, DefaultOwner), db.Now().UnixMilli(), tokens)
	}})
	if err != nil {
		return fmt.Errorf("count usage of run %s: %w", run, err)
	}
	return nil
}

// Used counts the runs that an owner started since a time, and the tokens of these and of side calls; deleted ones of
// the last two days count too, and the tokens of runs that were waiting or active past that time. For unended runs, the
// tokens passed to [DB.CountUsed] count. With the id of a run, only runs created up to that one count.
func (db *DB) Used(ctx context.Context, owner string, since time.Time, run string) (runs, tokens int64, err error) {
	err = db.queryRow(ctx, `SELECT
		{number}(SELECT count(*) FROM run WHERE owner = ?1 AND parent = '' AND created_at >= ?2 AND (?3 = ''
			OR (created_at, id) <= (SELECT r.created_at, r.id FROM run r WHERE r.id = ?3)))
		+ (SELECT coalesce(sum(runs), 0) FROM used WHERE owner = ?1 AND at >= ?2){number end},
		{number}(SELECT coalesce(sum(total), 0) FROM spent WHERE owner = ?1 AND at >= ?2)
		+ (SELECT coalesce(sum(s.total), 0) FROM spent s WHERE s.caller <> 'middleware' AND s.owner = ?1
			AND s.at >= ?4 AND s.at < ?2 AND s.run IN (SELECT r.id FROM run r WHERE r.owner = ?1
				AND r.created_at >= ?4 AND r.created_at < ?2 AND r.updated_at >= ?2))
		+ (SELECT coalesce(sum(tokens), 0) FROM used WHERE owner = ?1 AND at >= ?2 AND (substr(id, 1, 5) <> '`+live+`'
			OR EXISTS (SELECT 1 FROM run r WHERE r.id = substr(used.id, 6) AND r.status IN ('pending', 'running')))){number end}`,
		[]any{orDefault(owner, DefaultOwner), millis(since), run, millis(since.Add(-lateRuns))}, &runs, &tokens)
	if err != nil {
		return 0, 0, fmt.Errorf("count usage of %s: %w", owner, err)
	}
	return runs, tokens, nil
}

// ForgetUsed removes the usage of deleted runs before a moment.
func (db *DB) ForgetUsed(ctx context.Context, before time.Time) error {
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		return w.exec(`DELETE FROM used WHERE at < ?`, before.UnixMilli())
	}})
	if err != nil {
		return fmt.Errorf("remove old counts of usage: %w", err)
	}
	return nil
}
