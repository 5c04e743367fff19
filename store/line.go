package store

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// The line of a thread is in the rows of its runs: queued runs have places, and the first one is at
// the front, active or about to be. A run leaves the line with the batch that ends or deletes it,
// which also moves the next one to the front. Every change of a line locks the thread's row first, so
// that two changes never interleave.

// Line is a batch's change to its thread's queue of runs, besides the effect of the runs it writes.
type Line struct {
	// Strategy is the way in which the new run Run, or Enter, takes its place: "reject" returns ErrBusy if
	// others are in line, "interrupt" and "rollback" request their end. A delayed Run doesn't affect
	// others then.
	Strategy string
	Hold     bool   // Run is held while others are in line
	Enter    string // moves this held run into the line; ErrNotFound if there is none
	Promote  bool   // moves the first held run into the line if no other run is there
	Leave    string // releases this run of the server so that any server may take it
	Here     bool   // starts the new run on this server if there is room, wherever the thread's sandbox is
	Idle     string // a run that hasn't begun and that no living server is about to begin, else ErrConflict
	More     *bool  // set if the end or deletion of a run brought another to the front
	First    *bool  // set to whether Run can begin on this server: it is first in line and the thread isn't held
	Now      bool   // ErrBusy unless Run can begin on this server

	// The thread's status is busy while a run is in line. Otherwise it becomes Rest, or if that is ""
	// the status of its head.
	Rest   string
	AsHead bool
}

// lineOf returns a row if runs are in line of the thread ?2.
const lineOf = `(SELECT 1 FROM run WHERE thread = ?2 AND line > 0)`

// lastPlace is the place after all others in the line of thread ?2.
const lastPlace = `(SELECT coalesce(max(line), 0) + 1 FROM run WHERE thread = ?2 AND line > 0)`

// firstOrNot is 1 for a run that joins an empty line.
const firstOrNot = `CASE WHEN EXISTS ` + lineOf + ` THEN 0 ELSE 1 END`

// The node of a run that enters an empty line: none if another living server has the sandbox of the thread ?2, otherwise
// the given one. Others have none. The parameters in between are the result of [batch.near], and the node.
const (
	ifFirst = `CASE WHEN EXISTS ` + lineOf + ` THEN 0 WHEN {boxed}CAST(`
	orNode  = ` AS BIGINT){boxed end} THEN 0 ELSE CAST(`
	asNode  = ` AS BIGINT) END`
)

// near returns the preferred server for the run that p brings to the front, unless another one has the thread's sandbox; 0
// means any.
func (p *batch) near() int64 {
	if p.Line != nil && p.Line.Here {
		return 0
	}
	return p.node
}

// inLine reports whether the run has a place from the start.
func (r *Run) inLine() bool {
	return r.Parent == "" && r.open() && !r.Held && r.DueAt.IsZero()
}

func (r *Run) open() bool { return r.Status == "pending" || r.Status == "running" }

// movesLine reports whether p may change a line.
func (p *batch) movesLine() bool {
	return p.Line != nil || p.Delete != nil && len(p.Delete.Runs) > 0 ||
		p.Run != nil && p.Run.Parent == "" && (p.NewRun || !p.Run.open())
}

// joinLine comes before the row of the new run.
func (p *batch) joinLine() {
	l := p.Line
	if l == nil {
		return
	}
	if l.Idle != "" { // locked first, so that the check of its server comes after
		p.add("run", l.Idle, `SELECT 1 FROM run WHERE id = ?{lock}`, l.Idle)
		p.add("run", l.Idle, `SELECT 1 FROM run WHERE id = ? AND status = 'pending'
			AND (front = 0 OR NOT {living})`, l.Idle).Must = ErrConflict
	}
	if l.Strategy == "reject" && l.Enter == "" {
		p.add("line of thread", p.ThreadID, `SELECT 1 WHERE NOT EXISTS
			(SELECT 1 FROM run WHERE thread = ? AND line > 0)`, p.ThreadID).Must = ErrBusy
	}
	comes := l.Enter != "" || p.Run != nil && p.NewRun && p.Run.inLine() && !l.Hold
	if comes && (l.Strategy == WishInterrupt || l.Strategy == WishRollback) {
		p.add("wish about runs of thread", p.ThreadID, `UPDATE run SET wish = ?
			WHERE thread = ? AND line > 0 AND wish <> 'rollback'`, l.Strategy, p.ThreadID)
	}
}

// moveLine comes after everything that may remove runs from the queue.
func (p *batch) moveLine() {
	threads := map[string]bool{}
	if p.Run != nil && p.Run.Parent == "" && !p.Run.open() {
		threads[p.Run.ThreadID] = true
	}
	if p.Delete != nil && len(p.Delete.Runs) > 0 {
		threads[p.ThreadID] = true
	}
	if l := p.Line; l != nil {
		p.takePlaces(l)
		if l.Leave != "" {
			p.add("run", l.Leave, `UPDATE run SET node = 0 WHERE id = ? AND node = ? AND front = 1
				AND status = 'running'`, l.Leave, p.self).Must = ErrNotFound
		}
	}
	for thread := range threads {
		p.add("line of thread", thread, `UPDATE run SET front = 1, node = CASE WHEN {boxed}CAST(?1`+orNode+`?1`+asNode+`
			WHERE front = 0 AND id = (SELECT id FROM run WHERE thread = ?2 AND line > 0 ORDER BY line LIMIT 1)`,
			p.node, thread).More = p.more()
	}
	if p.Line != nil {
		p.restThread(p.Line)
	}
	if p.Line != nil && (p.Line.First != nil || p.Line.Now) {
		s := p.add("front of thread", p.ThreadID, `SELECT 1 FROM run WHERE thread = ? AND front = 1 AND id = ? AND node = ?
			AND wish = '' AND NOT {held} AND NOT EXISTS (SELECT 1 FROM "user" u WHERE u.id = run.owner AND u.disabled <> 0)`, p.ThreadID, p.Run.ID, p.self)
		if s.Found = p.Line.First; p.Line.Now {
			s.Must = ErrBusy
		}
	}
}

func (p *batch) more() *bool {
	if p.Line == nil {
		return nil
	}
	return p.Line.More
}

// takePlaces puts runs into line that wait aside.
func (p *batch) takePlaces(l *Line) {
	const enter = `UPDATE run SET held = 0, due_at = 0, line = ` + lastPlace + `, front = ` + firstOrNot + `,
		node = ` + ifFirst + `?4` + orNode + `?3` + asNode + ` WHERE id = `
	if l.Hold && p.Run != nil {
		p.add("line of thread", p.ThreadID, enter+`?1 AND held = 1 AND NOT EXISTS `+lineOf, p.Run.ID, p.ThreadID,
			p.node, p.near())
	}
	if l.Enter != "" {
		p.add("run", l.Enter, enter+`?1 AND thread = ?2 AND status = 'pending' AND line = 0 AND parent = ''`,
			l.Enter, p.ThreadID, p.node, p.near()).Must = ErrNotFound
	}
	if l.Promote {
		p.add("line of thread", p.ThreadID, enter+`(SELECT id FROM run WHERE thread = ?2 AND status = 'pending'
			AND held = ?1 ORDER BY created_at, id LIMIT 1) AND NOT EXISTS `+lineOf, 1, p.ThreadID, p.node,
			p.near()).More = l.More
	}
}

func (p *batch) restThread(l *Line) {
	const set = `UPDATE thread SET status = CASE WHEN EXISTS ` + lineOf + ` THEN 'busy' `
	switch {
	case l.AsHead:
		p.add("thread", p.ThreadID, set+`WHEN EXISTS (SELECT 1 FROM checkpoint c
			WHERE c.thread = ?2 AND c.ns = ?1 AND c.id = thread.head AND c.next NOT IN ('[]', 'null'))
			THEN 'interrupted' ELSE 'idle' END WHERE id = ?2`, "", p.ThreadID)
	case l.Rest != "":
		p.add("thread", p.ThreadID, set+`ELSE ?1 END WHERE id = ?2`, l.Rest, p.ThreadID)
	case l.Hold || l.Enter != "" || l.Promote:
		p.add("thread", p.ThreadID, `UPDATE thread SET status = 'busy' WHERE id = ? AND EXISTS
			(SELECT 1 FROM run WHERE thread = thread.id AND line > 0)`, p.ThreadID)
	}
}

// Place is a run in line.
type Place struct {
	Run, Status, Wish string
	Node              int64 // server that gets it at the front, 0 for none
	Held              bool  // it is at the front, and a server holds the thread
}

// Line returns the runs in line of a thread, the one at the front first.
func (db *DB) Line(ctx context.Context, thread string) (list []Place, err error) {
	list, err = rowsOf(ctx, db, `SELECT id, status, wish, node FROM run WHERE thread = ? AND line > 0 ORDER BY line`,
		[]any{thread}, func(rows scanner) (p Place, err error) {
			err = rows.Scan(&p.Run, &p.Status, &p.Wish, &p.Node)
			return p, err
		})
	if err != nil {
		return nil, fmt.Errorf("line of thread %s: %w", thread, err)
	}
	return list, nil
}

// Front returns the run at the front of a thread's line, or ErrNotFound.
func (db *DB) Front(ctx context.Context, thread string) (p Place, err error) {
	err = db.one(db.brief(ctx), `SELECT id, status, wish, node, {held} FROM run
		WHERE thread = ? AND front = 1`, thread).Scan(&p.Run, &p.Status, &p.Wish, &p.Node, &p.Held)
	if err != nil && !errors.Is(err, ErrNotFound) {
		err = fmt.Errorf("front of thread %s: %w", thread, err)
	}
	return p, err
}

// HeldRuns returns the runs of a thread that are held, oldest first.
func (db *DB) HeldRuns(ctx context.Context, thread string) ([]Run, error) {
	return db.runs(ctx, readRun+` FROM run WHERE thread = ? AND status = 'pending' AND held = 1
		ORDER BY created_at, id`, thread)
}

// DelayedRuns returns the runs of a thread that are to start later, the next one first.
func (db *DB) DelayedRuns(ctx context.Context, thread string) ([]Run, error) {
	return db.runs(ctx, readRun+` FROM run WHERE thread = ? AND status = 'pending' AND due_at > 0
		ORDER BY due_at, id`, thread)
}

// DueRuns returns at most limit runs of all threads that are due at a time, the earliest first, and the due time of
// the next one, the zero time if there is none.
func (db *DB) DueRuns(ctx context.Context, until time.Time, limit int) (due []Run, next time.Time, err error) {
	due, err = db.runs(ctx, readRun+` FROM run WHERE due_at > 0 AND due_at <= ? ORDER BY due_at, id LIMIT ?`,
		until.UnixMilli(), limit)
	if err != nil || len(due) == limit {
		return due, until, err
	}
	var at int64
	err = db.one(ctx, `SELECT coalesce(min(due_at), 0) FROM run WHERE due_at > ?`, until.UnixMilli()).Scan(&at)
	if err != nil {
		return nil, next, fmt.Errorf("find the next due run: %w", err)
	}
	return due, fromMillis(at), nil
}
