package store

import (
	"context"
	"encoding/json"
	"fmt"
)

// Limits of the audit: beyond either of them the oldest rows are dropped.
const (
	AuditRows  = 100_000
	AuditBytes = 64 << 20
)

// auditCosts is the approximate size of a row besides its body.
const auditCosts = 128

// AuditRow is one audit event of a thread's sandbox.
type AuditRow struct {
	ID     int64 // order of writing; given by the store
	Thread string
	Kind   string
	Body   json.RawMessage // an object, as the API shows it
}

// AuditQuery selects rows, newest first. Zero fields select everything.
type AuditQuery struct {
	Owner, Thread, Kind string
	Before              int64 // only rows with a smaller id
	Limit               int   // <= 0 means no limit
}

// Audit returns the rows that q selects.
func (db *DB) Audit(ctx context.Context, q AuditQuery) ([]AuditRow, error) {
	where, args := " WHERE 1 = 1", []any{}
	for _, c := range []struct {
		sql  string
		on   bool
		what any
	}{
		{" AND owner = ?", q.Owner != "", q.Owner}, {" AND thread = ?", q.Thread != "", q.Thread},
		{" AND kind = ?", q.Kind != "", q.Kind}, {" AND id < ?", q.Before > 0, q.Before},
	} {
		if c.on {
			where, args = where+c.sql, append(args, c.what)
		}
	}
	if q.Limit <= 0 {
		q.Limit = noLimit
	}
	out, err := rowsOf(ctx, db, `SELECT id, thread, kind, body FROM audit`+where+` ORDER BY id DESC LIMIT ?`,
		append(args, q.Limit), func(rows scanner) (r AuditRow, err error) {
			var body []byte
			err = rows.Scan(&r.ID, &r.Thread, &r.Kind, &body)
			r.Body = body
			return r, err
		})
	if err != nil {
		return nil, fmt.Errorf("read audit: %w", err)
	}
	return out, nil
}

// putAudit adds rows for threads that exist, under their owners, and drops the oldest ones
// beyond the bounds, unless [DB.TrimAudit] does. A thread that was deleted meanwhile keeps no rows.
func (p *batch) putAudit() {
	for _, r := range p.Audit {
		size := len(r.Body) + len(r.Thread) + len(r.Kind) + auditCosts
		p.add("record audit of thread", r.Thread, `INSERT INTO audit(owner, thread, kind, upto, body)
			SELECT owner, id, ?, coalesce((SELECT upto FROM audit ORDER BY id DESC LIMIT 1), 0) + ?, ?
			FROM thread WHERE id = ?`, r.Kind, size, string(r.Body), r.Thread)
	}
	if len(p.Audit) == 0 || p.auditRows == 0 {
		return
	}
	// Numbers and sums never decrease, so both limits are a position in the order. Gaps left by deleted threads only
	// make less be kept.
	p.add("drop old rows of", "audit", `DELETE FROM audit WHERE id < {greatest}((SELECT max(id) FROM audit) - ? + 1,
		coalesce((SELECT id FROM audit
		WHERE upto > (SELECT upto FROM audit ORDER BY id DESC LIMIT 1) - ? ORDER BY id LIMIT 1), 0))`,
		p.auditRows, p.auditBytes)
}

// TrimAudit deletes the oldest rows beyond the limits, in databases with several servers. A single server does so with
// each added row.
func (db *DB) TrimAudit(ctx context.Context) error {
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		return w.exec(`DELETE FROM audit WHERE id < {greatest}((SELECT max(id) FROM audit) - ? + 1,
			coalesce((SELECT max(id) + 1 FROM (SELECT id, sum(length(body) + length(thread) + length(kind) + ?)
			OVER (ORDER BY id DESC) AS upto FROM audit) AS a WHERE upto > ?), 0))`, w.auditRows, auditCosts,
			w.auditBytes)
	}})
	if err != nil {
		return fmt.Errorf("trim audit: %w", err)
	}
	return nil
}
