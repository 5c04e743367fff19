package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// Span is the trace of one call of a run, in its writer's format.
type Span struct {
	Thread, Run string
	N           int64 // start time in microseconds; unique
	Body        []byte
}

// PromptPart is a piece of a prompt, under its hash.
type PromptPart struct {
	Thread string // "" for a piece that isn't any thread's own: it is stored once and outlives threads
	Hash   []byte
	Body   []byte
}

// usedEvery is the resolution of a part's last use, and how seldom a writer may report uses.
const usedEvery = 12 * time.Hour

// PutTrace stores spans and the parts they reference. Those of missing threads and runs are skipped, and an existing
// part only has its last use updated.
func (db *DB) PutTrace(ctx context.Context, spans []Span, parts []PromptPart, now time.Time) error {
	b := &batch{}
	for _, p := range parts {
		if p.Thread == "" {
			b.add("write part of prompts", "", `INSERT INTO prompt(thread, hash, used, body) VALUES ('', ?, ?, ?)
				ON CONFLICT(thread, hash) DO UPDATE SET used = excluded.used WHERE prompt.used < excluded.used - ?`,
				p.Hash, millis(now), p.Body, usedEvery.Milliseconds())
			continue
		}
		b.add("write part of a prompt of thread", p.Thread, `INSERT INTO prompt(thread, hash, used, body)
			SELECT id, ?, ?, ? FROM thread WHERE id = ?
			ON CONFLICT(thread, hash) DO UPDATE SET used = excluded.used WHERE prompt.used < excluded.used - ?`,
			p.Hash, millis(now), p.Body, p.Thread, usedEvery.Milliseconds())
	}
	for _, s := range spans {
		b.add("write a span of run", s.Run, `INSERT INTO span(thread, run, n, body) SELECT thread, id, ?, ? FROM run
			WHERE id = ? AND thread = ? ON CONFLICT DO NOTHING`, s.N, s.Body, s.Run, s.Thread)
	}
	b.measure()
	b.Items += len(b.Stmts)
	if err := db.w.do(ctx, &job{batch: b, calm: true}); err != nil {
		return fmt.Errorf("store traces: %w", err)
	}
	return nil
}

// Spans returns a run's spans in the order of their starts.
func (db *DB) Spans(ctx context.Context, thread, run string) ([]Span, error) {
	list, err := rowsOf(ctx, db, `SELECT n, body FROM span WHERE thread = ? AND run = ? ORDER BY n`, []any{thread, run},
		func(rows scanner) (s Span, err error) {
			s = Span{Thread: thread, Run: run}
			err = rows.Scan(&s.N, &s.Body)
			return s, err
		})
	if err != nil {
		return nil, fmt.Errorf("read traces of run %s: %w", run, err)
	}
	return list, nil
}

// PromptPart returns a part of a thread's prompts, its own or a common one. Error: ErrNotFound.
func (db *DB) PromptPart(ctx context.Context, thread string, hash []byte) (body []byte, err error) {
	err = db.each(ctx, `SELECT body FROM prompt WHERE thread IN (?, '') AND hash = ?`, []any{thread, hash},
		func(rows *sql.Rows) (bool, error) { return false, rows.Scan(&body) })
	if err == nil && body == nil {
		err = ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("read part of a prompt: %w", err)
	}
	return body, nil
}

// forgotten is the number of old rows deleted at a time.
const forgotten = 2000

// ForgetTraces deletes some of the spans that began before a moment, and of the parts unused since. It reports whether
// there may be more.
func (db *DB) ForgetTraces(ctx context.Context, before time.Time) (more bool, err error) {
	var gone int64
	err = db.w.do(ctx, &job{apply: func(w *writer) error {
		n, err := w.change(`DELETE FROM span WHERE (thread, run, n) IN
			(SELECT thread, run, n FROM span WHERE n < ? LIMIT ?)`,
			before.UnixMicro(), forgotten)
		if err != nil {
			return err
		}
		gone = n
		n, err = w.change(`DELETE FROM prompt WHERE (thread, hash) IN
			(SELECT thread, hash FROM prompt WHERE used < ? LIMIT ?)`,
			millis(before.Add(-2*usedEvery)), forgotten) // a use may be reported so much later than the noted one
		gone = max(gone, n)
		return err
	}})
	if err != nil {
		return false, fmt.Errorf("delete old traces: %w", err)
	}
	return gone == forgotten, nil
}
