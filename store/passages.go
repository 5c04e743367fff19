package store

import (
	"context"
	"database/sql"
	"fmt"
)

// Passage is a part of a file that is searched and shown as a unit.
type Passage struct {
	File        string
	Kind        string // page, slide, sheet or chapter; empty in a text without
	Page        int    // its number
	First, Last int    // lines of the file's text, counted from 1
	Heading     string // its enclosing heading
	Text        string
}

// unindexedAtOnce limits the passages removed from the index per commit: each takes milliseconds and blocks other
// writers.
const unindexedAtOnce = 4

// PassageFiles returns the indexed files of a thread with the stamps of their texts, and their total
// size. A partially indexed file has an empty stamp.
func (db *DB) PassageFiles(ctx context.Context, thread string) (stamps map[string]string, size int64, err error) {
	stamps = map[string]string{}
	err = db.each(ctx, `SELECT file, stamp, bytes FROM passage_file WHERE thread = ?`, []any{thread},
		func(rows *sql.Rows) (bool, error) {
			var file, stamp string
			var n int64
			err := rows.Scan(&file, &stamp, &n)
			stamps[file] = stamp
			size += n
			return true, err
		})
	if err != nil {
		return nil, 0, fmt.Errorf("list indexed files of thread %s: %w", thread, err)
	}
	return stamps, size, nil
}

// PassageThreads returns the threads with files in the index.
func (db *DB) PassageThreads(ctx context.Context) (threads []string, err error) {
	threads, err = rowsOf(ctx, db, `SELECT DISTINCT thread FROM passage_file`, nil,
		func(rows scanner) (thread string, err error) {
			err = rows.Scan(&thread)
			return thread, err
		})
	if err != nil {
		return nil, fmt.Errorf("list threads with indexed files: %w", err)
	}
	return threads, nil
}

// AddPassages adds passages of a file to the index, in one commit. The last call for a file has the
// stamp of its text; until then the file counts as partially indexed.
func (db *DB) AddPassages(ctx context.Context, thread, file, stamp string, list []Passage) error {
	err := db.w.do(ctx, &job{apply: func(w *writer) error { return w.addPassages(thread, file, stamp, list) }})
	if err != nil {
		return fmt.Errorf("index %s of thread %s: %w", file, thread, translate(err))
	}
	return nil
}

func (w *writer) addPassages(thread, file, stamp string, list []Passage) error {
	in, size := scope(thread), 0
	for _, p := range list {
		size += len(p.Text)
		s, err := w.stmt(`INSERT INTO passage(thread, file, kind, page, first, last, heading, body)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`)
		if err != nil {
			return err
		}
		var id int64
		row := s.QueryRowContext(context.Background(), thread, file, p.Kind, p.Page, p.First, p.Last,
			p.Heading, p.Text)
		if err := row.Scan(&id); err != nil {
			return err
		}
		if err := w.exec(`INSERT INTO passage_word(rowid, words) VALUES (?, {words}?{words end})`, id,
			indexed(in, p.Heading+"\n"+p.Text)); err != nil {
			return err
		}
	}
	return w.exec(`INSERT INTO passage_file(thread, file, stamp, bytes) VALUES (?, ?, ?, ?)
		ON CONFLICT (thread, file) DO UPDATE SET stamp = excluded.stamp, bytes = passage_file.bytes + excluded.bytes`,
		thread, file, stamp, size)
}

// RemovePassages removes a file from the index, in small commits.
func (db *DB) RemovePassages(ctx context.Context, thread, file string) error {
	for more := true; more; {
		err := db.w.do(ctx, &job{apply: func(w *writer) (err error) {
			more, err = w.removePassages(thread, file)
			return err
		}})
		if err != nil {
			return fmt.Errorf("remove %s of thread %s from the index: %w", file, thread, translate(err))
		}
	}
	return nil
}

// removePassages removes the next passages of a file from the index, and the file itself after the
// last of them.
func (w *writer) removePassages(thread, file string) (more bool, err error) {
	s, err := w.stmt(`SELECT id, heading, body FROM passage WHERE thread = ? AND file = ? LIMIT ?`)
	if err != nil {
		return false, err
	}
	words := map[int64]string{}
	in := scope(thread)
	err = eachRow(context.Background(), s, []any{thread, file, unindexedAtOnce}, func(rows *sql.Rows) (bool, error) {
		var id int64
		var heading, body string
		err := rows.Scan(&id, &heading, &body)
		words[id] = indexed(in, heading+"\n"+body)
		return true, err
	})
	if err != nil {
		return false, err
	}
	if len(words) == 0 {
		return false, w.exec(`DELETE FROM passage_file WHERE thread = ? AND file = ?`, thread, file)
	}
	// Mark the passages as incomplete before the first of them is removed.
	if err := w.exec(`UPDATE passage_file SET stamp = '' WHERE thread = ? AND file = ?`, thread, file); err != nil {
		return false, err
	}
	return true, w.overwriting(func() error {
		for id, text := range words {
			if err := w.exec(`{unindex}`, id,
				text); err != nil {
				return err
			}
			if err := w.exec(`DELETE FROM passage WHERE id = ?`, id); err != nil {
				return err
			}
			if err := w.exec(`DELETE FROM knowledge_vector WHERE passage = ?`, id); err != nil {
				return err
			}
		}
		w.FreesMuch()
		return nil
	})
}
