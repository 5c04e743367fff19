package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
)

// findBatch is the number of thread rows that a search reads at a time.
const findBatch = 64

// Find asks for one page of an owner's threads: pinned ones first, then the latest updated.
type Find struct {
	Owner   string
	Words   []string // words that must all be in the title or all in one message; none finds every thread
	Project string   // restricts to a project; "" searches everywhere
	// Metadata is the required part of the thread's metadata, as in a ThreadQuery.
	Metadata json.RawMessage
	Tags     []string // tags that the thread must all have
	Shelf    Shelf
	Before   Position      // start after this position; zero starts at the top
	Limit    int           // limit of results
	Within   time.Duration // time limit of a search in messages, which then returns its position; 0 means none
	// Match reports whether a message's body contains all words, with the excerpt to show. Most bodies without any of
	// the words are skipped beforehand.
	Match func(body []byte) (excerpt string, ok bool)
}

// Position is a place in the list of threads.
type Position struct {
	Pinned    bool
	UpdatedAt time.Time
	ID        string // empty starts at the top
}

// Found is a thread with its search hits.
type Found struct {
	Thread
	Position Position
	Message  string // id of the newest matching message, "" if the title matches
	Excerpt  string // excerpt of that message
}

// FindThreads returns the threads matching f. rest is the start of the next page, with an empty ID at the end; after a
// timeout it is set with fewer than Limit threads.
func (db *DB) FindThreads(ctx context.Context, f Find) (found []Found, rest Position, err error) {
	start, at := time.Now(), f.Before
	pattern := likePattern(f.Words)
	want, err := parseContainment(f.Metadata)
	if err != nil {
		return nil, Position{}, fmt.Errorf("find threads: %w", err)
	}
	for {
		batch, err := db.threadsAfter(ctx, f, at, want)
		if err != nil {
			return nil, Position{}, fmt.Errorf("find threads: %w", err)
		}
		for _, t := range batch {
			if len(found) == f.Limit {
				return found, at, nil
			}
			if f.Within > 0 && at != f.Before && time.Since(start) > f.Within {
				return found, at, nil
			}
			at = t.Position
			if !containsAll(t.Metadata, want) || !hasTags(t.Metadata, f.Tags) {
				continue
			}
			hit, err := db.hit(ctx, &t, f, pattern)
			if err != nil {
				return nil, Position{}, fmt.Errorf("find in thread %s: %w", t.ID, err)
			}
			if hit {
				found = append(found, t)
			}
		}
		if len(batch) < findBatch {
			return found, Position{}, nil
		}
	}
}

// threadsAfter returns the next batch of threads. It skips most of those without the required metadata.
func (db *DB) threadsAfter(ctx context.Context, f Find, at Position, want map[string]any) ([]Found, error) {
	query, args := `SELECT pinned, `+threadColumns+` FROM thread WHERE owner = ? AND deleted_at = 0 AND temporary = 0`+
		f.Shelf.condition(), []any{f.Owner}
	if len(f.Tags) > 0 {
		query += ` AND metadata {like} ? ESCAPE '\'`
		args = append(args, likePattern(f.Tags))
	}
	if len(want) > 0 {
		query += ` AND metadata {like} ? ESCAPE '\'`
		args = append(args, likePattern(slices.Collect(maps.Keys(want))))
	}
	if f.Project != "" {
		query += ` AND project <> '' AND project = ?`
		args = append(args, f.Project)
	}
	if at.ID != "" {
		query += ` AND (pinned, updated_at, id) < (?, ?, ?)`
		args = append(args, at.Pinned, at.UpdatedAt.UnixMilli(), at.ID)
	}
	page, err := rowsOf(ctx, db, query+` ORDER BY pinned DESC, updated_at DESC, id DESC LIMIT ?`, append(args, findBatch),
		func(rows scanner) (f Found, err error) {
			f.Thread, err = scanThread(afterPinned{rows, &f.Position.Pinned})
			f.Position.UpdatedAt, f.Position.ID = f.UpdatedAt, f.ID
			return f, err
		})
	return page, err
}

// afterPinned scans a row with an extra column before those of a thread.
type afterPinned struct {
	rows   scanner
	pinned *bool
}

func (a afterPinned) Scan(dest ...any) error { return a.rows.Scan(append([]any{a.pinned}, dest...)...) }

// hit searches the title of a thread and then its messages, newest first.
func (db *DB) hit(ctx context.Context, t *Found, f Find, pattern string) (bool, error) {
	if hasAll(t.Title, f.Words) {
		return true, nil
	}
	hit := false
	err := db.each(ctx, `SELECT id, body FROM message
		WHERE thread = ? AND {text}body{text end} {like} ? ESCAPE '\' ORDER BY n DESC`,
		[]any{t.ID, pattern}, func(rows *sql.Rows) (bool, error) {
			var id string
			var body sql.RawBytes
			if err := rows.Scan(&id, &body); err != nil {
				return false, err
			}
			excerpt, ok := f.Match(body)
			if ok {
				t.Message, t.Excerpt, hit = id, excerpt, true
			}
			return !ok, nil
		})
	return hit, err
}

func hasAll(text string, words []string) bool {
	text = Fold(text)
	for _, w := range words {
		if !strings.Contains(text, Fold(w)) {
			return false
		}
	}
	return true
}

// Fold normalizes texts for comparison without case. It keeps the number of runes.
func Fold(s string) string { return strings.Map(unicode.ToLower, s) }

// likePattern matches every JSON text that may contain the longest word: letters with a case unknown to SQLite and
// characters that JSON may escape match anything.
func likePattern(words []string) string {
	longest := ""
	for _, w := range words {
		if len(w) > len(longest) {
			longest = w
		}
	}
	var b strings.Builder
	b.WriteByte('%')
	for _, r := range longest {
		switch {
		case r < ' ' || strings.ContainsRune(`"\/<>&`, r) || r == 0x7f || r == 0x2028 || r == 0x2029:
			b.WriteByte('%')
		case r == '%' || r == '_':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r > unicode.MaxASCII && (unicode.ToLower(r) != r || unicode.ToUpper(r) != r):
			b.WriteByte('_')
		case r > 0xffff:
			b.WriteByte('%') // might be written as two escapes
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('%')
	return b.String()
}
