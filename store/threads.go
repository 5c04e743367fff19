package store

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"
)

// Thread is one conversation. Times have millisecond resolution.
type Thread struct {
	ID             string          `json:"thread_id"`
	Owner          string          `json:"-"` // "" is written as [DefaultOwner]
	Status         string          `json:"status"`
	Title          string          `json:"title"`
	Metadata       json.RawMessage `json:"metadata"` // an object; nil is written as {}
	Config         json.RawMessage `json:"config"`   // an object; nil is written as {}
	Head           string          `json:"-"`        // checkpoint id in the root namespace, "" before the first
	CreatedAt      time.Time       `json:"created_at"`
	UpdatedAt      time.Time       `json:"updated_at"`
	StateUpdatedAt time.Time       `json:"state_updated_at"` // zero times are written as now
	DeletedAt      time.Time       `json:"-"`                // zero unless it is in the trash
	Project        string          `json:"-"`                // "" outside of projects; written with a new row only
}

// ThreadQuery selects a page of threads. Zero fields select everything.
type ThreadQuery struct {
	Owner     string // excludes deleted and temporary threads; "" includes those of all owners
	Shelf     Shelf
	IDs       []string
	Project   string // threads in it
	Status    string
	Metadata  json.RawMessage // required part of the thread's metadata
	Limit     int             // <= 0 means no limit
	Offset    int
	SortBy    string // thread_id, status, created_at, updated_at or state_updated_at
	SortOrder string // asc or desc; without both, pinned threads come first, then the latest updated
}

const threadColumns = `id, owner, status, title, metadata, config, head,
	created_at, updated_at, state_updated_at, deleted_at, project`

// scanThread reads threadColumns, and columns behind them into more.
func scanThread(row scanner, more ...any) (t Thread, err error) {
	var created, updated, state, deleted int64
	var meta, config []byte
	err = row.Scan(append([]any{&t.ID, &t.Owner, &t.Status, &t.Title, &meta, &config, &t.Head, &created, &updated, &state,
		&deleted, &t.Project}, more...)...)
	t.Metadata, t.Config = meta, config
	t.CreatedAt, t.UpdatedAt, t.StateUpdatedAt = fromMillis(created), fromMillis(updated), fromMillis(state)
	t.DeletedAt = fromMillis(deleted)
	return t, translate(err)
}

// Thread returns a thread of any owner, deleted or not, or ErrNotFound.
func (db *DB) Thread(ctx context.Context, id string) (Thread, error) {
	return db.thread(ctx, id, ``)
}

// ThreadOf returns a thread of owner's that is not deleted, or ErrNotFound.
func (db *DB) ThreadOf(ctx context.Context, owner, id string) (Thread, error) {
	return db.thread(ctx, id, ` AND owner = ? AND deleted_at = 0`, owner)
}

func (db *DB) thread(ctx context.Context, id, and string, args ...any) (Thread, error) {
	t, err := scanThread(db.one(db.brief(ctx), `SELECT `+threadColumns+` FROM thread WHERE id = ?`+and,
		append([]any{id}, args...)...))
	if err != nil {
		return Thread{}, fmt.Errorf("thread %s: %w", id, err)
	}
	return t, nil
}

// StuckThreads returns busy threads without a run in their queue.
func (db *DB) StuckThreads(ctx context.Context) ([]string, error) {
	ids, err := rowsOf(ctx, db, `SELECT id FROM thread WHERE status = 'busy' AND NOT EXISTS
		(SELECT 1 FROM run WHERE run.thread = thread.id AND front = 1) ORDER BY id`, nil,
		func(rows scanner) (id string, err error) {
			err = rows.Scan(&id)
			return id, err
		})
	if err != nil {
		return nil, fmt.Errorf("list stuck threads: %w", err)
	}
	return ids, nil
}

// Threads returns one page of the selected threads and their total number. Ties are ordered by id in the same
// direction. Only thread rows are read.
func (db *DB) Threads(ctx context.Context, q ThreadQuery) ([]Thread, int, error) {
	page, total, err := db.threads(ctx, q)
	if err != nil {
		return nil, 0, fmt.Errorf("search threads: %w", err)
	}
	return page, total, nil
}

func (db *DB) threads(ctx context.Context, q ThreadQuery) ([]Thread, int, error) {
	want, err := parseContainment(q.Metadata)
	if err != nil {
		return nil, 0, err
	}
	order, err := q.order()
	if err != nil {
		return nil, 0, err
	}
	where, args, err := q.where()
	if err != nil {
		return nil, 0, err
	}
	if q.Limit <= 0 {
		q.Limit = noLimit
	}
	q.Offset = max(0, q.Offset)
	page, total := []Thread{}, 0
	if want != nil {
		queries := []string{`SELECT id, metadata FROM thread` + where + order,
			`SELECT ` + threadColumns + ` FROM thread WHERE id = ?`}
		err = db.view(ctx, queries, func(v view) error {
			page, total, err = containing(v, want, args, q)
			return err
		})
		return page, total, err
	}
	queries := []string{`SELECT count(*) FROM thread` + where,
		`SELECT ` + threadColumns + ` FROM thread` + where + order + ` LIMIT ? OFFSET ?`}
	plain := q.Status == "" && len(q.IDs) == 0 && q.Project == ""
	key := q.Owner + q.Shelf.condition()
	known, at := db.counted(key)
	err = db.view(ctx, queries, func(v view) error {
		page = []Thread{}
		if total = known; !plain || known < 0 {
			if err := v.stmts[0].QueryRowContext(ctx, args...).Scan(&total); err != nil {
				return translate(err)
			}
		}
		return eachRow(ctx, v.stmts[1], append(args, q.Limit, q.Offset), func(rows *sql.Rows) (bool, error) {
			t, err := scanThread(rows)
			page = append(page, t)
			return true, err
		})
	})
	if err == nil && plain {
		db.count(key, total, at)
	}
	return page, total, err
}

// maxCounts limits the owners with a cached number of threads.
const maxCounts = 1000

// counted returns an owner's ("" for all) number of threads on a shelf, -1 if they must be counted, the only part of a
// list that depends on the number of threads. at is for [DB.count].
func (db *DB) counted(owner string) (n int, at uint64) {
	at = db.w.listed.Load()
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.countsAt == at {
		if n, ok := db.counts[owner]; ok {
			return n, at
		}
	}
	return -1, at
}

// count remembers a number that was counted no earlier than at.
func (db *DB) count(owner string, n int, at uint64) {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.countsAt != at || db.counts == nil || len(db.counts) >= maxCounts {
		if at < db.countsAt {
			return
		}
		db.counts, db.countsAt = map[string]int{}, at
	}
	db.counts[owner] = n
}

// containing reads the metadata of all candidates in order (first statement of
// v) and the rows of the page only (second).
func containing(v view, want map[string]any, args []any, q ThreadQuery) ([]Thread, int, error) {
	var ids []string
	total := 0
	err := eachRow(v.ctx, v.stmts[0], args, func(rows *sql.Rows) (bool, error) {
		var id string
		var meta sql.RawBytes
		if err := rows.Scan(&id, &meta); err != nil {
			return false, err
		}
		if !containsAll(meta, want) {
			return true, nil
		}
		if total >= q.Offset && len(ids) < q.Limit {
			ids = append(ids, id)
		}
		total++
		return true, nil
	})
	if err != nil {
		return nil, 0, err
	}
	page := make([]Thread, 0, len(ids))
	for _, id := range ids {
		t, err := scanThread(v.stmts[1].QueryRowContext(v.ctx, id))
		if err != nil {
			return nil, 0, err
		}
		page = append(page, t)
	}
	return page, total, nil
}

func (q ThreadQuery) order() (string, error) {
	if q.SortBy == "" && q.SortOrder == "" {
		return " ORDER BY pinned DESC, updated_at DESC, id DESC", nil
	}
	by, dir := orDefault(q.SortBy, "updated_at"), orDefault(q.SortOrder, "desc")
	switch by {
	case "thread_id":
		by = ""
	case "status", "created_at", "updated_at", "state_updated_at":
	default:
		return "", fmt.Errorf("sort threads: unknown field %q", by)
	}
	if dir != "asc" && dir != "desc" {
		return "", fmt.Errorf("sort order %q: must be asc or desc", dir)
	}
	if by == "" {
		return " ORDER BY id " + dir, nil
	}
	return " ORDER BY " + by + " " + dir + ", id " + dir, nil
}

func (q ThreadQuery) where() (where string, args []any, err error) {
	add := func(cond string, arg any) {
		if where == "" {
			where = " WHERE " + cond
		} else {
			where += " AND " + cond
		}
		args = append(args, arg)
	}
	if q.Owner != "" {
		add("deleted_at = 0 AND temporary = 0 AND owner = ?"+q.Shelf.condition(), q.Owner)
	}
	if q.Project != "" {
		add("project <> '' AND project = ?", q.Project)
	}
	if q.Status != "" {
		add("status = ?", q.Status)
	}
	if len(q.IDs) > 0 {
		ids, err := json.Marshal(q.IDs)
		if err != nil {
			return "", nil, err
		}
		add("id IN {list}", string(ids))
	}
	return where, args, nil
}

// parseContainment decodes a metadata filter, nil if it asks for nothing.
func parseContainment(raw json.RawMessage) (map[string]any, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil, nil
	}
	v, err := decodeJSON(raw)
	if err != nil {
		return nil, fmt.Errorf("metadata filter: %w", err)
	}
	switch v := v.(type) {
	case nil:
		return nil, nil
	case map[string]any:
		if len(v) == 0 {
			return nil, nil
		}
		return v, nil
	}
	return nil, fmt.Errorf("metadata filter must be an object")
}

func (p *batch) putThread() {
	t := p.Thread
	if t == nil {
		return
	}
	query := `INSERT INTO thread(` + threadColumns + `, incarnation) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT(id) DO UPDATE SET owner = excluded.owner, status = excluded.status, title = excluded.title,
		metadata = excluded.metadata, config = excluded.config, head = excluded.head, created_at = excluded.created_at,
		updated_at = excluded.updated_at, state_updated_at = excluded.state_updated_at,
		deleted_at = excluded.deleted_at`
	if p.NewThread {
		query = `INSERT INTO thread(` + threadColumns +
			`, incarnation) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(id) DO NOTHING`
	}
	now := p.now.UnixMilli()
	p.add("thread", t.ID, query, t.ID, orDefault(t.Owner, DefaultOwner), orDefault(t.Status, "idle"), t.Title,
		object(t.Metadata), object(t.Config), t.Head, orNow(t.CreatedAt, now), orNow(t.UpdatedAt, now),
		orNow(t.StateUpdatedAt, now), millis(t.DeletedAt), t.Project, p.incarnation).Must = ErrExists
}

func (p *batch) patchThread() error {
	pa := p.Patch
	if pa == nil {
		return nil
	}
	query := `UPDATE thread SET status = coalesce(?, status), head = coalesce(?, head)`
	args := []any{pa.Status, pa.Head, pa.Title}
	if pa.Title == nil || pa.TitleWas == nil {
		query += `, title = coalesce(?, title)`
	} else {
		query += `, title = CASE title WHEN ? THEN ? ELSE title END`
		args = []any{pa.Status, pa.Head, pa.TitleWas, pa.Title}
	}
	if pa.Metadata != nil || pa.Merge != nil || pa.MergeNew != nil { // only then: an index reads the column
		metadata, more, err := p.patchedMetadata()
		if err != nil {
			return err
		}
		query += `, metadata = ` + metadata
		args = append(args, more...)
		if bytes.Contains(pa.Metadata, []byte(TemporaryKey)) || bytes.Contains(pa.Merge, []byte(TemporaryKey)) {
			query += `, leave_at = 0` // the time of leaving no longer applies
		}
	}
	if pa.Config != nil {
		query += `, config = ?`
		args = append(args, objectText(pa.Config))
	}
	if len(p.Events) > 0 && !p.noEvents {
		query += `, seq = {greatest}(seq, ?)`
		args = append(args, p.To)
	}
	if len(p.Messages) > 0 {
		query += `, ` + raisedTop
		args = append(args, p.topArgs()...)
	}
	if pa.Touch { // only then: the column is in an index
		query += `, updated_at = ?`
		args = append(args, p.now.UnixMilli())
	}
	if pa.StateTouch {
		query += `, state_updated_at = ?`
		args = append(args, p.now.UnixMilli())
	}
	query += ` WHERE id = ?`
	args = append(args, p.ThreadID)
	missing := ErrNotFound
	if pa.From != nil {
		query += ` AND head = ?`
		args, missing = append(args, *pa.From), ErrConflict
	}
	p.add("thread", p.ThreadID, query, args...).Must = missing
	return nil
}

// raisedTop sets the thread's last number to that of a batch's messages. A number the thread used before makes it NULL,
// which the column rejects.
const raisedTop = `top = CASE WHEN top < ? THEN CAST(? AS BIGINT) END`

// topArgs returns the arguments of [raisedTop].
func (p *batch) topArgs() []any {
	least, most := p.Messages[0].N, p.Messages[0].N
	for _, m := range p.Messages[1:] {
		least, most = min(least, m.N), max(most, m.N)
	}
	return []any{least, most}
}

// raiseTop is patchThread for a batch without a patch.
func (p *batch) raiseTop() {
	if len(p.Messages) > 0 && p.Patch == nil {
		p.add("number messages of thread", p.ThreadID, `UPDATE thread SET `+raisedTop+` WHERE id = ?`,
			append(p.topArgs(), p.ThreadID)...)
	}
}

// raiseSeq makes seq the thread's last event number unless it has a greater one.
func (p *batch) raiseSeq(seq int64) {
	p.add("number events of thread", p.ThreadID, `UPDATE thread SET seq = ? WHERE id = ? AND seq < ?`, seq, p.ThreadID,
		seq)
}

// patchedMetadata returns the expression for a thread's metadata after the patch of p, with its arguments. A database
// function merges members into the current value, so concurrent patches both take effect.
func (p *batch) patchedMetadata() (expr string, args []any, err error) {
	pa := p.Patch
	if pa.Merge == nil && pa.MergeNew == nil {
		return `coalesce(?, metadata)`, []any{objectText(pa.Metadata)}, nil
	}
	for _, raw := range []json.RawMessage{pa.Metadata, pa.MergeNew, pa.Merge} {
		if err := json.Unmarshal([]byte(object(raw)), &map[string]json.RawMessage{}); err != nil {
			return "", nil, fmt.Errorf("thread %s: metadata: %w", p.ThreadID, err)
		}
	}
	return `merged_members(coalesce(?, metadata), ?, ?)`,
		[]any{objectText(pa.Metadata), object(pa.MergeNew), object(pa.Merge)}, nil
}
