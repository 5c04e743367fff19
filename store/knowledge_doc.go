package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Document is a document of a collection.
type Document struct {
	ID         int64 // 0 for a new one
	Collection string
	Source     string
	Name       string // unique in its source
	Title      string
	Address    string // address of a web page
	Stamp      string // version mark of the content read, defined by its source
	Hash       string // hash of its content
	State      string
	Reason     string // a word for a failure or omission
	Tries      int    // consecutive unfinished conversions, including the current one
	Bytes      int64  // size of its text
	UpdatedAt  time.Time
}

// File returns the name of its passages in the index.
func (d Document) File() string { return strconv.FormatInt(d.ID, 10) }

const docColumns = `d.id, d.knowledge, d.source, d.name, d.title, d.address, d.stamp, d.hash, d.state, d.reason,
	d.tries, d.bytes, d.updated_at`

func scanDoc(row scanner) (d Document, err error) {
	var updated int64
	err = translate(row.Scan(&d.ID, &d.Collection, &d.Source, &d.Name, &d.Title, &d.Address, &d.Stamp, &d.Hash, &d.State,
		&d.Reason, &d.Tries, &d.Bytes, &updated))
	d.UpdatedAt = fromMillis(updated)
	return d, err
}

func (db *DB) documents(ctx context.Context, where string, args ...any) (list []Document, err error) {
	list, err = rowsOf(ctx, db, `SELECT `+docColumns+` FROM knowledge_doc d WHERE `+where, args, scanDoc)
	if err != nil {
		return nil, fmt.Errorf("list documents: %w", err)
	}
	return list, nil
}

// living selects the documents whose source exists.
const living = `EXISTS (SELECT 1 FROM knowledge_source s WHERE s.id = d.source)`

// CollectionDocuments returns documents of a collection by name, failed ones first, from an offset on.
func (db *DB) CollectionDocuments(ctx context.Context, collection string, offset, limit int) ([]Document, error) {
	return db.documents(ctx, `d.knowledge = ? AND `+living+` ORDER BY CASE WHEN d.state = 'failed' THEN 0 ELSE 1 END,
		d.name, d.id LIMIT ? OFFSET ?`, collection, limit, offset)
}

// CollectionDocument returns a document of a collection by its number, or ErrNotFound.
func (db *DB) CollectionDocument(ctx context.Context, collection string, id int64) (Document, error) {
	return db.oneDocument(ctx, `d.knowledge = ? AND d.id = ? AND `+living, collection, id)
}

// CollectionDocumentNamed returns a document of a collection by its name, or ErrNotFound.
func (db *DB) CollectionDocumentNamed(ctx context.Context, collection, name string) (Document, error) {
	return db.oneDocument(ctx, `d.knowledge = ? AND d.name = ? AND `+living+` ORDER BY d.id LIMIT 1`, collection, name)
}

func (db *DB) oneDocument(ctx context.Context, where string, args ...any) (Document, error) {
	list, err := db.documents(db.brief(ctx), where, args...)
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("document: %w", ErrNotFound)
	}
	if err != nil {
		return Document{}, err
	}
	return list[0], nil
}

// DocumentText returns the text of a document, "" if there is none.
func (db *DB) DocumentText(ctx context.Context, id int64) (text string, err error) {
	err = db.each(ctx, `SELECT body FROM knowledge_text WHERE doc = ?`, []any{id}, func(rows *sql.Rows) (bool, error) {
		return false, rows.Scan(&text)
	})
	if err != nil {
		return "", fmt.Errorf("text of document %d: %w", id, err)
	}
	return text, nil
}

// SourceDocuments returns the documents of a source by name.
func (db *DB) SourceDocuments(ctx context.Context, source string) (map[string]Document, error) {
	list, err := db.documents(ctx, `d.source = ?`, source)
	all := make(map[string]Document, len(list))
	for _, d := range list {
		all[d.Name] = d
	}
	return all, err
}

// StrayDocuments returns documents of deleted sources.
func (db *DB) StrayDocuments(ctx context.Context, limit int) ([]Document, error) {
	return db.documents(ctx, `NOT `+living+` ORDER BY d.id LIMIT ?`, limit)
}

// CollectionBytes returns the size of a collection's text.
func (db *DB) CollectionBytes(ctx context.Context, collection string) (n int64, err error) {
	var sum sql.NullInt64
	if err := db.queryRow(ctx, `SELECT CAST(sum(bytes) AS bigint) FROM knowledge_doc WHERE knowledge = ?`, []any{collection},
		&sum); err != nil {
		return 0, fmt.Errorf("size of collection %s: %w", collection, err)
	}
	return sum.Int64, nil
}

// PutDocument writes a document without its text, inserting it if its ID is 0, and returns it with its ID. ErrNotFound if
// its source, or a document with an ID, is gone.
func (db *DB) PutDocument(ctx context.Context, d Document) (Document, error) {
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		if err := w.sourceThere(d.Source); err != nil {
			return err
		}
		return w.putDocument(&d, db.Now())
	}})
	if err != nil {
		return d, fmt.Errorf("store document %s: %w", d.Name, err)
	}
	return d, nil
}

// sourceThere returns ErrNotFound for a missing source. It locks an existing one until the end of the transaction, so that
// nothing is written after its removal.
func (w *writer) sourceThere(id string) error {
	return w.there(`SELECT 1 FROM knowledge_source WHERE id = ?{lock}`, id)
}

// there returns ErrNotFound if a query finds no row.
func (w *writer) there(query string, args ...any) error {
	s, err := w.stmt(query)
	if err != nil {
		return err
	}
	var one int
	return translate(s.QueryRowContext(context.Background(), args...).Scan(&one))
}

// putDocument writes a document; ErrNotFound if it has an ID but is gone.
func (w *writer) putDocument(d *Document, now time.Time) error {
	d.UpdatedAt = now.UTC().Truncate(time.Millisecond)
	if d.ID != 0 {
		args := []any{d.Title, d.Address, d.Stamp, d.Hash, d.State, d.Reason, d.Tries, d.Bytes, d.UpdatedAt.UnixMilli(), d.ID}
		cleanAll(args)
		return w.changeOr(ErrNotFound, `UPDATE knowledge_doc SET title = ?, address = ?, stamp = ?, hash = ?, state = ?, reason = ?,
			tries = ?, bytes = ?, updated_at = ? WHERE id = ?`, args...)
	}
	s, err := w.stmt(`INSERT INTO knowledge_doc(knowledge, source, name, title, address, stamp, hash, state, reason, tries,
		bytes, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(source, name) DO UPDATE SET
		title = excluded.title, address = excluded.address, stamp = excluded.stamp, hash = excluded.hash,
		state = excluded.state, reason = excluded.reason, tries = excluded.tries, bytes = excluded.bytes,
		updated_at = excluded.updated_at RETURNING id`)
	if err != nil {
		return err
	}
	args := []any{d.Collection, d.Source, d.Name, d.Title, d.Address, d.Stamp, d.Hash, d.State, d.Reason, d.Tries, d.Bytes,
		d.UpdatedAt.UnixMilli()}
	cleanAll(args)
	return s.QueryRowContext(context.Background(), args...).Scan(&d.ID)
}

// Indexed is a document with its text and passages.
type Indexed struct {
	Document
	Text     string
	Passages []Passage
}

// PutDocuments writes documents without other passages in the index, with their texts and passages, in one commit. Deleted
// ones are skipped. ErrNotFound if a source is gone.
func (db *DB) PutDocuments(ctx context.Context, list []Indexed) error {
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		for i := range list {
			d := &list[i]
			if i == 0 || d.Source != list[i-1].Source {
				if err := w.sourceThere(d.Source); err != nil {
					return err
				}
			}
			d.Bytes = int64(len(d.Text))
			err := w.putDocument(&d.Document, db.Now())
			if errors.Is(err, ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			if err := w.addPassages(CollectionShelf(d.Collection), d.File(), d.Stamp, d.Passages); err != nil {
				return err
			}
			if err := w.exec(`INSERT INTO knowledge_text(doc, body) VALUES (?, ?)
				ON CONFLICT(doc) DO UPDATE SET body = excluded.body`, d.ID, d.Text); err != nil {
				return err
			}
		}
		return nil
	}})
	if err != nil {
		return fmt.Errorf("store documents: %w", translate(err))
	}
	return nil
}

// AddDocumentPassages adds the next passages of a document to the index in one commit. ErrNotFound if the document or its
// source is gone.
func (db *DB) AddDocumentPassages(ctx context.Context, d Document, list []Passage) error {
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		if err := w.sourceThere(d.Source); err != nil {
			return err
		}
		if err := w.there(`SELECT 1 FROM knowledge_doc WHERE id = ?{lock}`, d.ID); err != nil {
			return err
		}
		return w.addPassages(CollectionShelf(d.Collection), d.File(), "", list)
	}})
	if err != nil {
		return fmt.Errorf("index document %s: %w", d.Name, translate(err))
	}
	return nil
}

// RemoveDocument removes a document: its passages in small commits, then the rest. Its source counts it no more, unless it is
// being read.
func (db *DB) RemoveDocument(ctx context.Context, d Document) error {
	if err := db.RemovePassages(ctx, CollectionShelf(d.Collection), d.File()); err != nil {
		return err
	}
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		w.FreesMuch()
		return w.overwriting(func() error {
			if err := w.exec(`DELETE FROM knowledge_text WHERE doc = ?`, d.ID); err != nil {
				return err
			}
			if err := w.exec(`DELETE FROM knowledge_doc WHERE id = ?`, d.ID); err != nil {
				return err
			}
			if err := w.exec(`UPDATE knowledge_source SET done = (SELECT count(*) FROM knowledge_doc WHERE source = ?1),
				total = (SELECT count(*) FROM knowledge_doc WHERE source = ?1) WHERE id = ?1 AND state <> 'pending'`,
				d.Source); err != nil {
				return err
			}
			for more := true; more; { // documents added meanwhile
				var err error
				if more, err = w.removePassages(CollectionShelf(d.Collection), d.File()); err != nil {
					return err
				}
			}
			return nil
		})
	}})
	if err != nil {
		return fmt.Errorf("remove document %s: %w", d.Name, translate(err))
	}
	return nil
}

// DocumentsByFile returns a collection's documents with existing sources, keyed by the names in their passages.
func (db *DB) DocumentsByFile(ctx context.Context, collection string, files []string) (map[string]Document, error) {
	ids := make([]string, 0, len(files))
	for _, f := range files {
		if _, err := strconv.ParseInt(f, 10, 64); err == nil {
			ids = append(ids, f)
		}
	}
	names, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	list, err := db.documents(ctx, `{unindexed}d.knowledge = ? AND `+living+` AND d.id IN (SELECT CAST(value AS bigint) FROM {values})`,
		collection, string(names))
	all := make(map[string]Document, len(list))
	for _, d := range list {
		all[d.File()] = d
	}
	return all, err
}
