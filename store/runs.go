package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Run is one execution on a thread. Times have millisecond resolution.
type Run struct {
	ID             string          `json:"run_id"`
	ThreadID       string          `json:"thread_id"`
	AssistantID    string          `json:"assistant_id"`
	Status         string          `json:"status"`
	Multitask      string          `json:"multitask_strategy"`
	StopReason     string          `json:"stop_reason,omitempty"`
	Error          string          `json:"error,omitempty"`
	BaseCheckpoint string          `json:"-"` // head when the run started, for rollback
	Owner          string          `json:"-"` // "" is written as [DefaultOwner]
	Parent         string          `json:"-"` // parent run in the same thread, or ""
	Metadata       json.RawMessage `json:"metadata"`
	Kwargs         json.RawMessage `json:"kwargs"`
	Usage          json.RawMessage `json:"usage,omitempty"` // nil is written as {}, like Metadata and Kwargs
	Helpers        Helpers         `json:"-"`               // added to Usage; read only
	FirstSeq       int64           `json:"-"`               // number of its first event, 0 before it
	LastSeq        int64           `json:"-"`               // number of its last event
	Attempt        int             `json:"-"`               // number of starts
	Held           bool            `json:"-"`               // pending, in no line until released
	DueAt          time.Time       `json:"-"`               // pending, in no line until this time
	Wish           string          `json:"-"`               // requested change of the run; read only, see [Wish]
	CreatedAt      time.Time       `json:"created_at"`
	UpdatedAt      time.Time       `json:"updated_at"` // zero times are written as now
}

const runColumns = `id, thread, assistant, owner, status, multitask, stop_reason, error, base_checkpoint,
	metadata, kwargs, usage, first_seq, last_seq, attempt, created_at, updated_at, parent, held, due_at`

// readRun selects the columns of scanRun.
var readRun = `SELECT ` + runColumns + `, wish, ` + helperSums("run.id")

func scanRun(row scanner) (r Run, err error) {
	var created, updated, due int64
	var meta, kwargs, usage, helpers []byte
	err = row.Scan(&r.ID, &r.ThreadID, &r.AssistantID, &r.Owner, &r.Status, &r.Multitask, &r.StopReason, &r.Error,
		&r.BaseCheckpoint,
		&meta, &kwargs, &usage, &r.FirstSeq, &r.LastSeq, &r.Attempt, &created, &updated, &r.Parent, &r.Held, &due,
		&r.Wish, &helpers)
	if err == nil {
		r.Helpers, err = helpersOf(helpers)
	}
	r.Metadata, r.Kwargs, r.Usage = meta, kwargs, usage
	r.CreatedAt, r.UpdatedAt, r.DueAt = fromMillis(created), fromMillis(updated), fromMillis(due)
	return r, translate(err)
}

// Run returns a run, or ErrNotFound.
func (db *DB) Run(ctx context.Context, id string) (Run, error) {
	r, err := scanRun(db.one(db.brief(ctx), readRun+` FROM run WHERE id = ?`, id))
	if err != nil {
		return Run{}, fmt.Errorf("run %s: %w", id, err)
	}
	whole, err := db.fillRuns(ctx, []Run{r})
	if err == nil && len(whole) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return Run{}, fmt.Errorf("run %s: %w", id, err)
	}
	return whole[0], nil
}

// ChildRuns returns the ids of a run's children, and of theirs.
func (db *DB) ChildRuns(ctx context.Context, run string) ([]string, error) {
	ids, err := rowsOf(ctx, db, `WITH RECURSIVE child(id) AS (SELECT id FROM run WHERE parent = ?1 AND parent <> ''
		UNION SELECT run.id FROM run JOIN child ON run.parent = child.id AND run.parent <> '') SELECT id FROM child`,
		[]any{run}, func(rows scanner) (id string, err error) {
			err = rows.Scan(&id)
			return id, err
		})
	if err != nil {
		return nil, fmt.Errorf("children of run %s: %w", run, err)
	}
	return ids, nil
}

// ChildOf returns the newest run that works for a call of a message of a thread.
func (db *DB) ChildOf(ctx context.Context, thread, message, call string) (Run, error) {
	list, err := db.runs(ctx, readRun+
		` FROM run WHERE thread = ? AND parent <> '' AND {json}kwargs{json end} ->> 'message_id' = ?
		AND {json}kwargs{json end} ->> 'task_id' = ?
		ORDER BY created_at DESC, id DESC LIMIT 1`, thread, message, call)
	if err != nil {
		return Run{}, err
	}
	if len(list) == 0 {
		return Run{}, fmt.Errorf("run for a call in thread %s: %w", thread, ErrNotFound)
	}
	return list[0], nil
}

// ChildrenAtWork returns the runs of a thread that work for others.
func (db *DB) ChildrenAtWork(ctx context.Context, thread string) ([]Run, error) {
	return db.runs(ctx, readRun+` FROM run WHERE thread = ? AND parent <> '' AND status = 'running' ORDER BY id`,
		thread)
}

// Runs returns a page of a thread's runs, newest first, without child runs. An empty status means any, limit <= 0 means
// all.
func (db *DB) Runs(ctx context.Context, thread string, status string, limit, offset int) ([]Run, error) {
	if limit <= 0 {
		limit = noLimit
	}
	return db.runs(ctx, readRun+` FROM run WHERE thread = ? AND parent = '' AND (? = '' OR status = ?)
		ORDER BY created_at DESC, id DESC LIMIT ? OFFSET ?`, thread, status, status, limit, max(0, offset))
}

// OpenRuns returns all runs that are pending or running, oldest first. At
// start-up these are the ones the last process did not end.
func (db *DB) OpenRuns(ctx context.Context) ([]Run, error) {
	return db.runs(ctx, readRun+` FROM run WHERE status IN ('pending', 'running') ORDER BY created_at, id`)
}

// OpenThreads lists the threads of an owner that have runs which have not ended.
func (db *DB) OpenThreads(ctx context.Context, owner string) (ids []string, err error) {
	ids, err = rowsOf(ctx, db, `SELECT DISTINCT thread FROM run WHERE status IN ('pending', 'running') AND owner = ?`,
		[]any{orDefault(owner, DefaultOwner)}, func(rows scanner) (id string, err error) {
			err = rows.Scan(&id)
			return id, err
		})
	if err != nil {
		return nil, fmt.Errorf("list the open threads of %s: %w", owner, err)
	}
	return ids, nil
}

func (db *DB) runs(ctx context.Context, query string, args ...any) ([]Run, error) {
	runs, err := rowsOf(ctx, db, query, args, scanRun)
	if err == nil {
		runs, err = db.fillRuns(ctx, runs)
	}
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	return runs, nil
}

// Insertion and update of run rows: a run in line gets its place when it is created, and one that has
// ended has none.
const (
	runRow = `INSERT INTO run(` + runColumns + `, line, front, node)
		VALUES (?1, ?2, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, `
	runAside  = runRow + `0, 0, 0) ON CONFLICT(id) `
	runInLine = runRow + lastPlace + `, ` + firstOrNot + `, ` + ifFirst + `?22` + orNode + `?21` + asNode + `)
		ON CONFLICT(id) `
	// Without columns that never change: SQLite rewrites each index with a column that is set, even to an equal value.
	runAgain = `DO UPDATE SET assistant = excluded.assistant, status = excluded.status, multitask = excluded.multitask, stop_reason = excluded.stop_reason,
		error = excluded.error, base_checkpoint = excluded.base_checkpoint, metadata = excluded.metadata,
		kwargs = excluded.kwargs, usage = excluded.usage,
		first_seq = excluded.first_seq, last_seq = excluded.last_seq, attempt = excluded.attempt,
		updated_at = excluded.updated_at, held = excluded.held, due_at = excluded.due_at`

	newAside    = runAside + `DO NOTHING`
	newInLine   = runInLine + `DO NOTHING`
	writeAside  = runAside + runAgain
	writeInLine = runInLine + runAgain
	writeEnded  = runAside + runAgain + `, line = 0, front = 0, node = 0`
)

func (p *batch) putRun() {
	r, now := p.Run, p.now.UnixMilli()
	if r == nil {
		return
	}
	held, due, hold := r.Held, millis(r.DueAt), p.Line != nil && p.Line.Hold
	inLine := r.inLine() && !hold
	if r.Status != "pending" {
		held, due = false, 0
	}
	var query string
	switch {
	case p.NewRun && inLine:
		query = newInLine
	case p.NewRun:
		query, held = newAside, held || hold && due == 0
	case inLine:
		query = writeInLine
	case r.open():
		query = writeAside
	default:
		query = writeEnded
	}
	args := []any{r.ID, r.ThreadID, r.AssistantID, orDefault(r.Owner, DefaultOwner), r.Status, r.Multitask,
		r.StopReason, r.Error, r.BaseCheckpoint, object(r.Metadata), object(r.Kwargs), object(r.Usage), r.FirstSeq,
		r.LastSeq, r.Attempt, orNow(r.CreatedAt, now), orNow(r.UpdatedAt, now), r.Parent, held, due}
	if inLine {
		args = append(args, p.node, p.near())
	}
	p.add("run", r.ID, query, args...).Must = ErrExists
}

// Wish is a request to end or change a run that has not ended. It is stored immediately, so that it outlives the server
// that should carry it out.
type Wish struct {
	Run  string
	Wish string // one of the constants below
}

// Wishes. A run that will be rolled back keeps that wish.
const (
	WishInterrupt = "interrupt"
	WishRollback  = "rollback"
)

func (p *batch) putWishes() {
	for _, w := range p.Wishes {
		p.add("wish about run", w.Run, `UPDATE run SET wish = ? WHERE id = ? AND status IN ('pending', 'running')
			AND wish <> 'rollback'`, w.Wish, w.Run)
	}
}
