package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
)

// Ranked is a passage found by a search. A lower rank is better.
type Ranked struct {
	Passage
	ID   int64
	Rank float64
}

// RankPassages is [DB.FindPassages] with scores comparable across threads.
func (db *DB) RankPassages(ctx context.Context, thread, query string, limit int) ([]Ranked, error) {
	return db.findPassages(ctx, thread, query, nil, limit)
}

// PassagesByID returns the existing passages of a thread with these numbers.
func (db *DB) PassagesByID(ctx context.Context, thread string, ids []int64) (map[int64]Passage, error) {
	texts := make([]string, 0, len(ids))
	for _, id := range ids {
		texts = append(texts, fmt.Sprint(id))
	}
	list, err := json.Marshal(texts)
	if err != nil {
		return nil, err
	}
	found := map[int64]Passage{}
	err = db.each(ctx, `SELECT p.id, p.file, p.kind, p.page, p.first, p.last, p.heading, p.body FROM passage p
		WHERE p.id IN (SELECT CAST(value AS bigint) FROM {values}) AND {unindexed}p.thread = ?`, []any{string(list), thread},
		func(rows *sql.Rows) (bool, error) {
			var id int64
			var p Passage
			err := rows.Scan(&id, &p.File, &p.Kind, &p.Page, &p.First, &p.Last, &p.Heading, &p.Text)
			found[id] = p
			return true, err
		})
	if err != nil {
		return nil, fmt.Errorf("read passages of %s: %w", thread, err)
	}
	return found, nil
}

// Vector is the embedding of a passage.
type Vector struct {
	Passage int64
	Values  []byte // numbers from -127 to 127, two's complement
}

// VectorVersion counts changes of a collection's vectors, 0 for a missing one.
func (db *DB) VectorVersion(ctx context.Context, collection string) (n int64, err error) {
	err = db.each(db.brief(ctx), `SELECT version FROM knowledge WHERE id = ?`, []any{collection},
		func(rows *sql.Rows) (bool, error) { return false, rows.Scan(&n) })
	if err != nil {
		return 0, fmt.Errorf("version of collection %s: %w", collection, err)
	}
	return n, nil
}

// Vectors calls visit with each embedding by a model of a collection's passages.
func (db *DB) Vectors(ctx context.Context, collection, model string, visit func(Vector)) error {
	err := db.each(ctx, `SELECT passage, vector FROM knowledge_vector WHERE knowledge = ? AND model = ?`,
		[]any{collection, model}, func(rows *sql.Rows) (bool, error) {
			var v Vector
			err := rows.Scan(&v.Passage, &v.Values)
			if err == nil {
				visit(v)
			}
			return true, err
		})
	if err != nil {
		return fmt.Errorf("read vectors of collection %s: %w", collection, err)
	}
	return nil
}

// Unembedded returns the numbers of passages of a collection without a vector of a model.
func (db *DB) Unembedded(ctx context.Context, collection, model string) (ids []int64, err error) {
	ids, err = rowsOf(ctx, db, `SELECT p.id FROM passage p WHERE p.thread = ? AND NOT EXISTS (SELECT 1 FROM knowledge_vector v
		WHERE v.passage = p.id AND v.model = ?) ORDER BY p.id`, []any{CollectionShelf(collection), model},
		func(rows scanner) (id int64, err error) {
			err = rows.Scan(&id)
			return id, err
		})
	if err != nil {
		return nil, fmt.Errorf("find passages without vectors in collection %s: %w", collection, err)
	}
	return ids, nil
}

// PutVectors stores embeddings of a collection's passages. Deleted passages are skipped.
func (db *DB) PutVectors(ctx context.Context, collection, model string, list []Vector) error {
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		for _, v := range list {
			if err := w.exec(`INSERT INTO knowledge_vector(passage, knowledge, model, vector) SELECT p.id, ?2, ?3, ?4
				FROM passage p WHERE p.id = ?1 ON CONFLICT(passage) DO UPDATE SET model = excluded.model,
				vector = excluded.vector`, v.Passage, collection, model, v.Values); err != nil {
				return err
			}
		}
		return w.exec(`UPDATE knowledge SET version = version + 1 WHERE id = ?`, collection)
	}})
	if err != nil {
		return fmt.Errorf("store vectors of collection %s: %w", collection, translate(err))
	}
	return nil
}
