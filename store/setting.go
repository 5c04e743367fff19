package store

import (
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// ErrChanged means that a setting was changed concurrently.
var ErrChanged = errors.New("it was changed meanwhile")

// Setting is shared by the servers of a database: changes made on pages and through the API. A single server stores
// them in files.
type Setting struct {
	Name    string
	Version int64  // number of changes, 0 before the first
	Body    []byte // never empty; nil for a deleted one, whose version stays
}

// Settings returns the named settings, unordered; those never written are missing.
func (db *DB) Settings(ctx context.Context, names ...string) ([]Setting, error) {
	if len(names) == 0 {
		return nil, nil
	}
	list, err := json.Marshal(names)
	if err != nil {
		return nil, err
	}
	out, err := rowsOf(ctx, db, `SELECT name, version, body FROM setting WHERE version > 0 AND name IN {list}`,
		[]any{string(list)}, func(rows scanner) (s Setting, err error) {
			err = rows.Scan(&s.Name, &s.Version, &s.Body)
			return s, err
		})
	if err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	return out, nil
}

// SettingVersions returns the versions of all settings, deleted ones too.
func (db *DB) SettingVersions(ctx context.Context) (map[string]int64, error) {
	out := map[string]int64{}
	err := db.each(ctx, `SELECT name, version FROM setting WHERE version > 0`, nil,
		func(rows *sql.Rows) (bool, error) {
			var name string
			var version int64
			err := rows.Scan(&name, &version)
			out[name] = version
			return true, err
		})
	if err != nil {
		return nil, fmt.Errorf("read versions of settings: %w", err)
	}
	return out, nil
}

// SettingChanges counts the changes of all settings, which is a cheap way to detect one.
func (db *DB) SettingChanges(ctx context.Context) (n int64, err error) {
	err = db.queryRow(ctx, `SELECT {number}coalesce(sum(version), 0){number end} FROM setting`, nil, &n)
	if err != nil {
		return 0, fmt.Errorf("look for changes of settings: %w", err)
	}
	return n, nil
}

// SwapSettings replaces settings that still have the given versions, atomically, or returns ErrChanged. Other servers
// are woken.
func (db *DB) SwapSettings(ctx context.Context, list ...Setting) error {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b Setting) int { return strings.Compare(a.Name, b.Name) }) // see group.lockThreads
	p := &batch{setting: db.w.setting()}
	names := make([]string, len(list))
	for i, s := range list {
		names[i] = s.Name
		if s.Version == 0 {
			p.add("write setting", s.Name, `INSERT INTO setting(name, version, body) VALUES (?, 1, ?)
				ON CONFLICT(name) DO NOTHING`, s.Name, s.Body).Must = ErrChanged
			continue
		}
		p.add("write setting", s.Name, `UPDATE setting SET version = version + 1, body = ?
			WHERE name = ? AND version = ?`, s.Body, s.Name, s.Version).Must = ErrChanged
	}
	p.measure()
	if err := db.w.do(ctx, &job{batch: p}); err != nil {
		return err
	}
	db.Say(WakeSetting, 0, names...)
	return nil
}

// settingPart begins the names of pieces of a value that is too large for one row. Their version is 0, as they never
// change.
const settingPart = "part/"

// PutPart stores a piece of a large value under its hash. An existing one is unchanged.
func (db *DB) PutPart(ctx context.Context, hash string, data []byte) error {
	p := &batch{setting: db.w.setting()}
	p.add("write part", hash, `INSERT INTO setting(name, version, body) VALUES (?, 0, ?)
		ON CONFLICT(name) DO NOTHING`, settingPart+hash, data)
	p.measure()
	return db.w.do(ctx, &job{batch: p})
}

// Part returns such a part, or ErrNotFound.
func (db *DB) Part(ctx context.Context, hash string) (data []byte, err error) {
	err = db.queryRow(ctx, `SELECT body FROM setting WHERE name = ? AND version = 0`, []any{settingPart + hash}, &data)
	if err != nil {
		return nil, fmt.Errorf("read part %s: %w", hash, err)
	}
	return blob(data), nil
}

// Parts returns the hashes of all pieces.
func (db *DB) Parts(ctx context.Context) (hashes []string, err error) {
	const query = `SELECT name FROM setting WHERE version = 0 AND name >= 'part/' AND name < 'part0'`
	err = db.each(ctx, query, nil, func(rows *sql.Rows) (bool, error) {
		var name string
		err := rows.Scan(&name)
		hashes = append(hashes, strings.TrimPrefix(name, settingPart))
		return true, err
	})
	if err != nil {
		return nil, fmt.Errorf("list parts: %w", err)
	}
	return hashes, nil
}

// DropParts deletes pieces.
func (db *DB) DropParts(ctx context.Context, hashes ...string) error {
	p := &batch{setting: db.w.setting()}
	for _, h := range hashes {
		p.add("delete part", h, `DELETE FROM setting WHERE name = ? AND version = 0`, settingPart+h)
	}
	p.measure()
	return db.w.do(ctx, &job{batch: p})
}

// spentSetting is the name prefix of used one-time values. They also have version 0, and store their expiry.
const spentSetting = "spent/"

// Spend records the use of a one-time value, named by its hash, which expires at until. It returns ErrChanged if the
// value was used before, on any server.
func (db *DB) Spend(ctx context.Context, hash string, until time.Time) error {
	moment := func(t time.Time) []byte { return binary.BigEndian.AppendUint64(nil, uint64(t.UnixMilli())) }
	p := &batch{setting: db.w.setting()}
	p.add("delete what was spent", "", `DELETE FROM setting WHERE name >= 'spent/' AND name < 'spent0' AND body < ?`,
		moment(db.Now()))
	p.add("spend", hash, `INSERT INTO setting(name, version, body) VALUES (?, 0, ?) ON CONFLICT(name) DO NOTHING`,
		spentSetting+hash, moment(until)).Must = ErrChanged
	p.measure()
	return db.w.do(ctx, &job{batch: p})
}
