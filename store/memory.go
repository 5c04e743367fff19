package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Memory is the stored memory of an owner.
type Memory struct {
	Revision int64 // number of changes; 0 before the first
	Updated  time.Time
	Body     json.RawMessage // everything but the facts; an object
	Facts    []Fact          // oldest first
}

// Fact is one stored fact about an owner.
type Fact struct {
	Agent      string // its agent; "" is the lead agent
	ID         string // unique for owner and agent
	Content    string
	Category   string
	Confidence float64
	Source     string // thread it was said in, or another source
	Message    string // message of that thread
	Revision   int64  // the memory's at the fact's last change; set by the store
	Created    time.Time
	Updated    time.Time
	Extra      json.RawMessage // an object
}

// FactKey names a fact of an owner.
type FactKey struct{ Agent, ID string }

// MemoryChange is written all or nothing.
type MemoryChange struct {
	Owner  string
	From   int64           // revision it is based on, else ErrConflict
	At     time.Time       // when
	Body   json.RawMessage // nil keeps the stored body
	Clear  bool            // deletes all facts first
	Delete []FactKey
	Put    []Fact // new facts, or replacements with the same key
	KV     []KV
	Drop   []KV // facts deleted if their body still matches
}

// Memory returns an owner's memory.
func (db *DB) Memory(ctx context.Context, owner string) (m Memory, err error) {
	queries := []string{`SELECT revision, updated_at, body FROM memory WHERE owner = ?`,
		`SELECT agent, id, content, category, confidence, source, message, revision, created_at, updated_at, extra
			FROM fact WHERE owner = ? ORDER BY n`}
	err = db.view(ctx, queries, func(v view) error {
		m = Memory{}
		var updated int64
		var body string
		err := translate(v.stmts[0].QueryRowContext(ctx, owner).Scan(&m.Revision, &updated, &body))
		if errors.Is(err, ErrNotFound) {
			m.Body = json.RawMessage("{}")
			return nil
		}
		if err != nil {
			return err
		}
		m.Updated, m.Body = fromMillis(updated), json.RawMessage(body)
		return eachRow(ctx, v.stmts[1], []any{owner}, func(rows *sql.Rows) (bool, error) {
			var f Fact
			var created, updated int64
			var extra string
			err := rows.Scan(&f.Agent, &f.ID, &f.Content, &f.Category, &f.Confidence, &f.Source, &f.Message,
				&f.Revision, &created, &updated, &extra)
			f.Created, f.Updated, f.Extra = fromMillis(created), fromMillis(updated), json.RawMessage(extra)
			m.Facts = append(m.Facts, f)
			return true, err
		})
	})
	if err != nil {
		return Memory{}, fmt.Errorf("read the memory of %s: %w", owner, err)
	}
	return m, nil
}

// ChangeMemory changes an owner's memory and returns its revision, a new one unless only values change. Deleted facts
// are erased from the file.
func (db *DB) ChangeMemory(ctx context.Context, c MemoryChange) (revision int64, err error) {
	err = db.w.do(ctx, &job{apply: func(w *writer) error {
		facts := c.Clear || len(c.Delete)+len(c.Put) > 0
		if revision = c.From; facts || c.Body != nil {
			if revision, err = w.raiseMemory(c); err != nil {
				return err
			}
		}
		if facts {
			if err := w.overwriting(func() error { return w.putFacts(c, revision) }); err != nil {
				return err
			}
		}
		for _, kv := range c.Drop {
			if err := w.exec(`DELETE FROM kv WHERE owner = ? AND space = ? AND key = ? AND body = ?`,
				kv.Owner, kv.Space, kv.Key, kv.Body); err != nil {
				return err
			}
		}
		return w.putKV(c.KV)
	}})
	if err != nil {
		return 0, fmt.Errorf("change the memory of %s: %w", c.Owner, err)
	}
	return revision, nil
}

// raiseMemory writes the row of an owner's memory with the next revision.
func (w *writer) raiseMemory(c MemoryChange) (int64, error) {
	next := c.From + 1
	if c.From == 0 {
		return next, translate(w.exec(`INSERT INTO memory(owner, revision, updated_at, body) VALUES (?, ?, ?, ?)`,
			c.Owner, next, c.At.UnixMilli(), object(c.Body)))
	}
	var body any
	if c.Body != nil {
		body = string(c.Body)
	}
	n, err := w.change(`UPDATE memory SET revision = ?, updated_at = ?, body = coalesce(?, body)
		WHERE owner = ? AND revision = ?`,
		next, c.At.UnixMilli(), body, c.Owner, c.From)
	if err == nil && n == 0 {
		err = fmt.Errorf("%w: the memory has changed since revision %d", ErrConflict, c.From)
	}
	return next, translate(err)
}

func (w *writer) putFacts(c MemoryChange, revision int64) error {
	if c.Clear {
		if err := w.exec(`DELETE FROM fact WHERE owner = ?`, c.Owner); err != nil {
			return err
		}
		w.FreesMuch()
	}
	for _, k := range c.Delete {
		err := w.exec(`DELETE FROM fact WHERE owner = ? AND agent = ? AND id = ?`, c.Owner, k.Agent, k.ID)
		if err != nil {
			return err
		}
		w.FreesMuch()
	}
	for _, f := range c.Put {
		err := w.exec(`INSERT INTO fact(owner, agent, id, content, category, confidence, source, message, revision,
				created_at, updated_at, extra)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (owner, agent, id) DO UPDATE SET content = excluded.content, category = excluded.category,
			confidence = excluded.confidence, source = excluded.source, message = excluded.message,
			revision = excluded.revision, updated_at = excluded.updated_at, extra = excluded.extra`,
			c.Owner, f.Agent, f.ID, f.Content, f.Category, f.Confidence, f.Source, f.Message, revision,
			f.Created.UnixMilli(), f.Updated.UnixMilli(), object(f.Extra))
		if err != nil {
			return fmt.Errorf("write fact %s: %w", f.ID, err)
		}
	}
	return nil
}
