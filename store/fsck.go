package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"fawn/store/commit"
	"fawn/store/postgres"
)

// maxFindings limits the result of Check, as a damaged file can break everything.
const maxFindings = 1000

// Check returns broken references, one sentence each, at most 1,000: rows named by a card but missing, missing heads
// and parents, rows without a thread, runs without events, counters that would reuse a number, busy threads without a
// run, and problems found by SQLite in the file.
func (db *DB) Check(ctx context.Context) ([]string, error) {
	c := &checker{ctx: ctx, engine: db.engine}
	err := db.view(ctx, nil, func(v view) error {
		c.tx, c.found = v.tx, nil
		for _, f := range []func() error{c.file, c.orphans, c.values, c.heads, c.numbers, c.parents, c.cards, c.events,
			c.busy, c.lines, c.blobs} {
			if err := f(); err != nil {
				return translate(err)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("check store: %w", err)
	}
	return c.found, nil
}

type checker struct {
	ctx    context.Context
	engine commit.Engine
	tx     *sql.Tx
	found  []string
}

func (c *checker) add(format string, args ...any) {
	if len(c.found) < maxFindings {
		c.found = append(c.found, fmt.Sprintf(format, args...))
	}
}

// each must not be called by scan: some kinds of databases read one answer after the other.
func (c *checker) each(query string, args []any, scan func(*sql.Rows) error) error {
	rows, err := c.tx.QueryContext(c.ctx, c.engine.Bind(query), args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (c *checker) file() error {
	damage, err := c.engine.Damage(c.ctx, c.tx)
	for _, what := range damage {
		c.add("The database file is damaged: %s.", what)
	}
	return err
}

func (c *checker) heads() error {
	return c.each(`SELECT id, head FROM thread t WHERE head <> '' AND NOT EXISTS
		(SELECT 1 FROM checkpoint c WHERE c.thread = t.id AND c.ns = '' AND c.id = t.head)`,
		nil, func(rows *sql.Rows) error {
			var thread, head string
			err := rows.Scan(&thread, &head)
			c.add("Thread %s has head %s, which does not exist.", thread, head)
			return err
		})
}

// numbers checks that messages are below the next number to be given.
func (c *checker) numbers() error {
	return c.each(`SELECT t.id, t.top, m.n FROM thread t JOIN (SELECT thread, max(n) AS n FROM message GROUP BY thread) m
		ON m.thread = t.id WHERE m.n > t.top`, nil, func(rows *sql.Rows) error {
		var thread string
		var top, last int64
		err := rows.Scan(&thread, &top, &last)
		c.add("Thread %s counts messages up to %d and has number %d.", thread, top, last)
		return err
	})
}

func (c *checker) parents() error {
	return c.each(`SELECT thread, id, parent FROM checkpoint k WHERE parent <> '' AND NOT EXISTS
		(SELECT 1 FROM checkpoint p WHERE p.thread = k.thread AND p.ns = k.ns AND p.id = k.parent)`, nil,
		func(rows *sql.Rows) error {
			var thread, id, parent string
			err := rows.Scan(&thread, &id, &parent)
			c.add("Checkpoint %s of thread %s has parent %s, which does not exist.", id, thread, parent)
			return err
		})
}

// cards checks all cards, holding the row numbers of one thread at a time.
func (c *checker) cards() error {
	var threads []string
	err := c.each(`SELECT DISTINCT thread FROM checkpoint ORDER BY thread`, nil, func(rows *sql.Rows) error {
		var thread string
		err := rows.Scan(&thread)
		threads = append(threads, thread)
		return err
	})
	for _, thread := range threads {
		if err == nil {
			err = c.cardsOf(thread)
		}
	}
	return err
}

func (c *checker) cardsOf(thread string) error {
	have, fields, err := c.rowsOf(thread)
	if err != nil {
		return err
	}
	return c.each(`SELECT id, card FROM checkpoint WHERE thread = ?`, []any{thread}, func(rows *sql.Rows) error {
		var id string
		var raw []byte
		if err := rows.Scan(&id, &raw); err != nil {
			return err
		}
		var card Card
		if err := json.Unmarshal(raw, &card); err != nil {
			c.add("Checkpoint %s of thread %s has an unreadable card: %v.", id, thread, err)
			return nil
		}
		for _, r := range card.Messages {
			if !covered(have, r) {
				c.add("Checkpoint %s of thread %s needs messages %d to %d, which are not all there.",
					id, thread, r.From, r.To)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(card.Fields)) {
			if v := card.Fields[name]; !fields[fieldKey(name, v)] {
				c.add("Checkpoint %s of thread %s needs version %d of field %s, which does not exist.", id, thread, v,
					name)
			}
		}
		return nil
	})
}

func fieldKey(name string, version int64) string { return fmt.Sprintf("%d %s", version, name) }

// rowsOf returns which message numbers, as ranges, and field versions a thread
// has.
func (c *checker) rowsOf(thread string) (have []Range, fields map[string]bool, err error) {
	err = c.each(`SELECT n FROM message WHERE thread = ? ORDER BY n`, []any{thread}, func(rows *sql.Rows) error {
		var n int64
		if err := rows.Scan(&n); err != nil {
			return err
		}
		if k := len(have); k > 0 && have[k-1].To == n-1 {
			have[k-1].To = n
		} else {
			have = append(have, Range{n, n})
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	fields = map[string]bool{}
	err = c.each(`SELECT name, version FROM field WHERE thread = ?`, []any{thread}, func(rows *sql.Rows) error {
		var name string
		var v int64
		err := rows.Scan(&name, &v)
		fields[fieldKey(name, v)] = true
		return err
	})
	return have, fields, err
}

// covered reports whether r lies within one of the ranges, which are sorted.
func covered(have []Range, r Range) bool {
	if r.From > r.To {
		return false
	}
	i, exact := slices.BinarySearchFunc(have, r.From, func(h Range, n int64) int {
		switch {
		case h.From < n:
			return -1
		case h.From > n:
			return 1
		}
		return 0
	})
	if !exact {
		i--
	}
	return i >= 0 && r.To <= have[i].To
}

// Repair fixes everything that can be fixed without losing visible content, after copying a database file, and returns
// sentences about its changes: it deletes unreachable rows, replaces a missing head with the newest checkpoint, clears
// a missing parent, and corrects counters and statuses. Damaged content stays.
func (db *DB) Repair(ctx context.Context) ([]string, error) {
	copied := filepath.Join(db.dir, "fawn-before-repair-"+time.Now().UTC().Format("20060102T150405.000")+".db")
	err := db.Backup(ctx, copied)
	if err != nil && !errors.Is(err, postgres.ErrNoFile) {
		return nil, err
	}
	isFile := err == nil
	var did []string
	err = db.w.do(ctx, &job{apply: func(w *writer) error {
		did = nil
		for _, o := range owned {
			if err := w.mend(&did, "deleted %d rows of "+o.table+" whose thread does not exist",
				`DELETE`+without(o.table, o.loose)); err != nil {
				return err
			}
		}
		for _, m := range []struct{ did, query string }{
			{"deleted %d values of threads that do not exist", `DELETE` + strayValues},
			{"gave %d threads the newest checkpoint there is as their head",
				`UPDATE thread SET head = coalesce(
					(SELECT max(c.id) FROM checkpoint c WHERE c.thread = thread.id AND c.ns = ''), '')
				WHERE head <> '' AND NOT EXISTS
				(SELECT 1 FROM checkpoint c WHERE c.thread = thread.id AND c.ns = '' AND c.id = thread.head)`},
			{"made %d checkpoints whose parent is gone first ones",
				`UPDATE checkpoint SET parent = '' WHERE parent <> '' AND NOT EXISTS
				(SELECT 1 FROM checkpoint p
					WHERE p.thread = checkpoint.thread AND p.ns = checkpoint.ns AND p.id = checkpoint.parent)`},
			{"raised the event counters of %d threads",
				`UPDATE thread SET seq = (SELECT max(e."to") FROM event e WHERE e.thread = thread.id)
				WHERE seq < (SELECT max(e."to") FROM event e WHERE e.thread = thread.id)`},
			{"raised the message counters of %d threads",
				`UPDATE thread SET top = (SELECT max(m.n) FROM message m WHERE m.thread = thread.id)
				WHERE top < (SELECT max(m.n) FROM message m WHERE m.thread = thread.id)`},
			{"forgot %d blobs of rows that are gone", `DELETE` + unusedUses},
			{"deleted %d blobs that nothing refers to", `DELETE` + unusedBlobs},
			{"took %d runs out of line that have ended", `UPDATE run SET line = 0, front = 0, due_at = 0
				WHERE (line > 0 OR due_at > 0) AND status NOT IN ('pending', 'running')`},
			{"put %d runs to the front of their lines", `UPDATE run SET front = 1 WHERE line > 0 AND id IN
				(SELECT id FROM run r WHERE NOT EXISTS (SELECT 1 FROM run f WHERE f.thread = r.thread AND f.front = 1)
				AND line = (SELECT min(l.line) FROM run l WHERE l.thread = r.thread AND l.line > 0))`},
			{"set %d busy threads to idle on which nothing runs", `UPDATE thread AS t SET status = 'idle'` + idleBusy},
		} {
			if err := w.mend(&did, m.did, m.query); err != nil {
				return err
			}
		}
		return nil
	}})
	if err != nil {
		return nil, fmt.Errorf("repair store: %w", err)
	}
	if isFile {
		did = append(did, "a copy from before is "+copied)
	}
	return did, nil
}

// mend runs one statement and records its changes.
func (w *writer) mend(did *[]string, what, query string) error {
	n, err := w.change(query)
	if err == nil && n > 0 {
		*did = append(*did, fmt.Sprintf(what, n))
	}
	return err
}
