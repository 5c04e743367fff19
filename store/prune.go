package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"slices"
)

// Spaces of the key-value table that begin like this belong to threads: their keys are
// a thread's id, or that, a space and more, and their owner is [Global]. They go with the thread.
const threadSpaces = "thread_"

// ChangesSpace has what runs did to the files of their threads, by [ChangesKey].
const ChangesSpace = threadSpaces + "changes"

// ChangesKey is where the changes of a run are.
func ChangesKey(thread, run string) string { return thread + " " + run }

// DocumentSpace has what is known of a thread's documents, by the thread's id, a space and the
// name of the upload. The thread need not exist yet.
const DocumentSpace = threadSpaces + "document"

// removeThread deletes every row of a thread. What the rows held is overwritten, not only
// let go: somebody who deletes a conversation wants it gone from the file.
func (w *writer) removeThread(thread string) error {
	if err := w.overwriting(func() error { return w.removeRows(thread) }); err != nil {
		return err
	}
	w.shrink = true
	return w.forget(thread)
}

func (w *writer) removeRows(thread string) error {
	for _, table := range []string{
		`DELETE FROM channel_in WHERE run IN (SELECT id FROM run WHERE thread = ?)`,
		`DELETE FROM channel_out WHERE run IN (SELECT id FROM run WHERE thread = ?)`,
		`DELETE FROM channel_chat WHERE thread = ?`,
		`DELETE FROM message WHERE thread = ?`, `DELETE FROM field WHERE thread = ?`,
		`DELETE FROM checkpoint WHERE thread = ?`, `DELETE FROM event WHERE thread = ?`,
		`DELETE FROM run WHERE thread = ?`, `DELETE FROM feedback WHERE thread = ?`,
		`DELETE FROM audit WHERE thread = ?`, `DELETE FROM blob WHERE thread = ?`,
		`DELETE FROM blob_use WHERE thread = ?`, `DELETE FROM spending WHERE thread = ?`,
		`DELETE FROM share WHERE thread = ?`, `DELETE FROM span WHERE thread = ?`,
		`DELETE FROM prompt WHERE thread = ?`,
		`DELETE FROM cron_run WHERE cron IN (SELECT id FROM cron WHERE thread = ?)`,
		`DELETE FROM cron WHERE thread = ?`,
		`DELETE FROM thread WHERE id = ?`,
	} {
		if err := w.exec(table, thread); err != nil {
			return fmt.Errorf("delete thread %s: %w", thread, err)
		}
	}
	err := w.exec(`DELETE FROM kv WHERE owner = '' AND space >= ? AND space < ? AND (key = ? OR key >= ? AND key < ?)`,
		threadSpaces, threadSpaces+"\x7f", thread, thread+" ", thread+"!")
	if err != nil {
		return fmt.Errorf("delete thread %s: %w", thread, err)
	}
	return nil
}

// removeHistory leaves a thread its head with the rows that needs. Runs stay as they are
// listed, without their events.
func (w *writer) removeHistory(thread string) error {
	var head string
	var raw []byte
	s, err := w.stmt(`SELECT t.head, c.card FROM thread t
		JOIN checkpoint c ON c.thread = t.id AND c.ns = '' AND c.id = t.head WHERE t.id = ?`)
	if err != nil {
		return err
	}
	if err := translate(s.QueryRowContext(context.Background(), thread).Scan(&head, &raw)); err != nil {
		return err
	}
	var card Card
	if err := json.Unmarshal(raw, &card); err != nil {
		return fmt.Errorf("read card of checkpoint %s: %w", head, err)
	}
	for _, one := range []struct {
		query string
		args  []any
	}{
		{`DELETE FROM checkpoint WHERE thread = ? AND NOT (ns = '' AND id = ?)`, []any{thread, head}},
		{`UPDATE checkpoint SET parent = '' WHERE thread = ?`, []any{thread}},
		{`DELETE FROM event WHERE thread = ?`, []any{thread}},
		{`UPDATE run SET first_seq = 0, last_seq = 0, base_checkpoint = '' WHERE thread = ?`, []any{thread}},
	} {
		if err := w.exec(one.query, one.args...); err != nil {
			return err
		}
	}
	ranges := slices.SortedFunc(slices.Values(card.Messages), func(a, b Range) int {
		return cmp.Compare(a.From, b.From)
	})
	next := int64(0) // numbers below are dealt with
	for _, r := range append(ranges, Range{From: math.MaxInt64, To: math.MaxInt64}) {
		if r.From > next {
			err := w.exec(`DELETE FROM message WHERE thread = ? AND n >= ? AND n < ?`, thread, next, r.From)
			if err != nil {
				return err
			}
		}
		if r.To < math.MaxInt64 {
			next = max(next, r.To+1)
		}
	}
	w.shrink = true
	return w.removeFields(thread, card.Fields)
}

// removeFields deletes all versions of a thread's fields but those to keep.
func (w *writer) removeFields(thread string, keep map[string]int64) error {
	s, err := w.stmt(`SELECT name, version FROM field WHERE thread = ?`)
	if err != nil {
		return err
	}
	var gone []FieldRow
	err = eachRow(context.Background(), s, []any{thread}, func(rows *sql.Rows) (bool, error) {
		var f FieldRow
		err := rows.Scan(&f.Name, &f.Version)
		if v, ok := keep[f.Name]; err == nil && (!ok || v != f.Version) {
			gone = append(gone, f)
		}
		return true, err
	})
	if err != nil {
		return err
	}
	for _, f := range gone {
		if err := w.exec(`DELETE FROM field WHERE thread = ? AND name = ? AND version = ?`, thread, f.Name,
			f.Version); err != nil {
			return err
		}
	}
	return nil
}
