package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Kinds of sources.
const (
	UploadSource = "upload"
	FolderSource = "folder"
	WebSource    = "web"
	GitSource    = "git"
)

// States of a source. A pending one is about to be read, or being read.
const (
	SourcePending = "pending"
	SourceReady   = "ready"
	SourceFailed  = "failed"
)

// Source is an origin of a collection's documents.
type Source struct {
	ID         string
	Collection string
	Kind       string
	Address    string
	Every      time.Duration // in seconds; 0 reads it on request only
	State      string
	Problem    string // error message
	Stamp      string // version mark of the content read, such as a commit
	Asked      int64
	Done       int // documents of Total read so far
	Total      int
	Skipped    int // number of non-document files
	CheckedAt  time.Time
	NextAt     time.Time // zero for never
}

const sourceColumns = `s.id, s.knowledge, s.kind, s.address, s.every, s.state, s.problem, s.stamp, s.asked, s.done,
	s.total, s.skipped, s.checked_at, s.next_at`

func scanSource(row scanner) (s Source, err error) {
	var every, checked, next int64
	err = translate(row.Scan(&s.ID, &s.Collection, &s.Kind, &s.Address, &every, &s.State, &s.Problem, &s.Stamp, &s.Asked,
		&s.Done, &s.Total, &s.Skipped, &checked, &next))
	s.Every = time.Duration(every) * time.Second
	if checked > 0 {
		s.CheckedAt = fromMillis(checked)
	}
	if next > 0 {
		s.NextAt = fromMillis(next)
	}
	return s, err
}

func (db *DB) sources(ctx context.Context, where string, args ...any) (list []Source, err error) {
	list, err = rowsOf(ctx, db, `SELECT `+sourceColumns+` FROM knowledge_source s WHERE `+where, args, scanSource)
	if err != nil {
		return nil, fmt.Errorf("list sources: %w", err)
	}
	return list, nil
}

// Sources returns a collection's sources, its uploads first.
func (db *DB) Sources(ctx context.Context, collection string) ([]Source, error) {
	return db.sources(ctx, `s.knowledge = ? ORDER BY CASE WHEN s.kind = 'upload' THEN 0 ELSE 1 END, s.address, s.id`,
		collection)
}

// DueSources returns the due sources of two kinds, longest waiting first, and the next due time of the others, zero for
// never.
func (db *DB) DueSources(ctx context.Context, kinds [2]string, limit int) (due []Source, next time.Time, err error) {
	now := db.Now().UnixMilli()
	due, err = db.sources(ctx, `s.next_at > 0 AND s.next_at <= ? AND s.kind IN (?, ?) ORDER BY s.next_at, s.id LIMIT ?`, now,
		kinds[0], kinds[1], limit)
	var at sql.NullInt64
	if err == nil {
		err = db.queryRow(ctx, `SELECT min(next_at) FROM knowledge_source WHERE next_at > ? AND kind IN (?, ?)`,
			[]any{now, kinds[0], kinds[1]}, &at)
	}
	if at.Int64 > 0 {
		next = fromMillis(at.Int64)
	}
	return due, next, err
}

// addSource inserts a new source; a pending one is due at once.
func (w *writer) addSource(s Source) error {
	next := int64(0)
	if s.State == SourcePending {
		next = 1
	}
	return w.exec(`INSERT INTO knowledge_source(id, knowledge, kind, address, every, state, problem, stamp, asked, done,
		total, skipped, checked_at, next_at) VALUES (?, ?, ?, ?, ?, ?, '', '', 1, 0, 0, 0, 0, ?)`, s.ID, s.Collection, s.Kind,
		s.Address, int64(s.Every/time.Second), s.State, next)
}

// AddSource adds a source to a collection, due at once. ErrExists if there is one of that kind and address, or at the
// limit most; ErrNotFound if the collection is gone.
func (db *DB) AddSource(ctx context.Context, s Source, most int) error {
	s.State = SourcePending
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		q, err := w.stmt(`SELECT (SELECT count(*) FROM knowledge_source WHERE knowledge = k.id),
			(SELECT count(*) FROM knowledge_source WHERE knowledge = k.id AND kind = ?2 AND address = ?3)
			FROM knowledge k WHERE k.id = ?1{lock}`)
		if err != nil {
			return err
		}
		var all, same int
		if err := q.QueryRowContext(context.Background(), s.Collection, s.Kind, s.Address).Scan(&all, &same); err != nil {
			return translate(err)
		}
		if same > 0 || all >= most {
			return ErrExists
		}
		return w.addSource(s)
	}})
	if err != nil {
		return fmt.Errorf("add a source to collection %s: %w", s.Collection, err)
	}
	return nil
}

// AskSource requests reading a source of a collection, or all of them for "". ErrNotFound if there is none.
func (db *DB) AskSource(ctx context.Context, collection, id string) error {
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		return w.changeOr(ErrNotFound, `UPDATE knowledge_source SET state = 'pending', problem = '', asked = asked + 1, next_at = 1
			WHERE knowledge = ?1 AND (id = ?2 OR ?2 = '')`, collection, id)
	}})
	if err != nil {
		return fmt.Errorf("update source %s: %w", id, err)
	}
	return nil
}

// RemoveSource removes a source other than the uploads. Its documents are no longer found;
// [DB.StrayDocuments] lists them for removal. ErrNotFound if there is none.
func (db *DB) RemoveSource(ctx context.Context, collection, id string) error {
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		return w.changeOr(ErrNotFound, `DELETE FROM knowledge_source WHERE knowledge = ? AND id = ? AND kind <> 'upload'`, collection, id)
	}})
	if err != nil {
		return fmt.Errorf("remove source %s: %w", id, err)
	}
	return nil
}

// NoteSource stores the progress of reading a source.
func (db *DB) NoteSource(ctx context.Context, id string, done, total int) error {
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		return w.exec(`UPDATE knowledge_source SET done = ?, total = ? WHERE id = ?`, done, total, id)
	}})
	if err != nil {
		return fmt.Errorf("update source %s: %w", id, err)
	}
	return nil
}

// EndSource stores the result of reading a source: state, problem, stamp, counts and the next due time. If it was
// requested again meanwhile, it stays due.
func (db *DB) EndSource(ctx context.Context, s Source) error {
	next := int64(0)
	if !s.NextAt.IsZero() {
		next = s.NextAt.UnixMilli()
	}
	now := db.Now().UnixMilli()
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		if err := w.exec(`UPDATE knowledge_source SET stamp = ?, done = ?, total = ?, skipped = ?, checked_at = ? WHERE id = ?`,
			s.Stamp, s.Done, s.Total, s.Skipped, now, s.ID); err != nil {
			return err
		}
		return w.exec(`UPDATE knowledge_source SET state = ?, problem = ?, next_at = ? WHERE id = ? AND asked = ?`, s.State,
			s.Problem, next, s.ID, s.Asked)
	}})
	if err != nil {
		return fmt.Errorf("update source %s: %w", s.ID, err)
	}
	return nil
}

// SourceChanges returns a mark that changes when sources are added or removed, here or on another server.
func (db *DB) SourceChanges(ctx context.Context) (mark string, err error) {
	var n int
	var last sql.NullString
	if err := db.queryRow(ctx, `SELECT count(*), max(id) FROM knowledge_source`, nil, &n, &last); err != nil {
		return "", fmt.Errorf("look for changed sources: %w", err)
	}
	return fmt.Sprint(n, " ", last.String), nil
}

// SourceAsked returns how often reading a source was requested; ErrNotFound if it is gone.
func (db *DB) SourceAsked(ctx context.Context, id string) (n int64, err error) {
	err = db.queryRow(ctx, `SELECT asked FROM knowledge_source WHERE id = ?`, []any{id}, &n)
	if err != nil && !errors.Is(err, ErrNotFound) {
		err = fmt.Errorf("source %s: %w", id, err)
	}
	return n, err
}
