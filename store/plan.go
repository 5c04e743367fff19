package store

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"fawn/store/commit"
)

// setting is the context of a plan besides its batch.
type setting struct {
	now                   time.Time
	incarnation           int64 // incarnation of a thread the batch creates
	self                  int64 // server of the batch
	node                  int64 // server that gets runs which move to the front, 0 for any with room
	noEvents              bool
	auditRows, auditBytes int64
}

// batch is a Batch as it will be written.
type batch struct {
	Batch
	setting
	commit.Plan
	blobs []blobRow
	uses  []blobUse
}

// calm reports whether p isn't urgent: it holds no part of a thread.
func (p *batch) calm() bool { return p.ThreadID == "" && p.Run == nil && len(p.Wishes) == 0 }

// setting returns the current setting.
func (w *writer) setting() setting {
	s := setting{now: w.engine.Now(), incarnation: 1 + rand.Int64N(1<<62), self: w.node, node: w.node,
		noEvents: w.noEvents, auditRows: w.auditRows, auditBytes: w.auditBytes}
	if w.trims { // sums of several servers would be wrong, and their deletions would meet
		s.auditRows = 0
	}
	if w.crowded.Load() {
		s.node = 0
	}
	return s
}

// plan returns the writes of b, in the order of the fields of Batch. Text is cleaned for all
// databases, see [clean].
func plan(b Batch, s setting) (*batch, error) {
	p := &batch{Batch: b, setting: s}
	if b.Thread != nil && b.ThreadID == "" {
		p.ThreadID = b.Thread.ID
	}
	p.ThreadID = clean(p.ThreadID)
	if err := p.complete(); err != nil {
		return nil, err
	}
	for _, e := range b.Events {
		p.To = max(p.To, e.Seq, e.To)
	}
	p.Folds = p.To
	if b.Delete != nil {
		p.Folds = max(p.Folds, b.Delete.EventsTo)
	}
	p.takeBlobs()
	p.putThread()
	p.askThreads()
	p.copyThread()
	if err := p.patchThread(); err != nil {
		return nil, err
	}
	p.joinLine()
	p.putRun()
	p.planOutbound()
	p.putWishes()
	p.putMessages()
	p.putFields()
	p.putBlobs()
	if err := p.putCheckpoints(); err != nil {
		return nil, err
	}
	p.putEvents()
	p.remove()
	p.moveLine()
	p.putKV()
	p.putAudit()
	p.putSpending()
	p.measure()
	return p, nil
}

// complete refuses rows without an owner.
func (p *batch) complete() error {
	switch {
	case p.Thread != nil && p.Thread.ID == "":
		return errors.New("thread without id")
	case p.Run != nil && (p.Run.ID == "" || p.Run.ThreadID == ""):
		return errors.New("run without id or thread")
	case p.ThreadID == "" && (p.Patch != nil || p.Delete != nil || p.Line != nil ||
		len(p.Messages)+len(p.Fields)+len(p.Checkpoints)+len(p.Events) > 0):
		return errors.New("rows without thread id")
	}
	return nil
}

// add plans a statement. The result is valid until the next call.
func (p *batch) add(what, of, sql string, args ...any) *stmt {
	cleanAll(args)
	p.Stmts = append(p.Stmts, stmt{What: what, Of: of, SQL: sql, Args: args})
	return &p.Stmts[len(p.Stmts)-1]
}

// measure completes the plan: what it does to the tail, and about how many bytes and rows it writes.
func (p *batch) measure() {
	p.Target, p.Of = p.ThreadID, p
	p.Removes = p.Delete != nil && p.Delete.Thread
	p.Frees = p.Removes || p.Delete != nil && p.Delete.History
	p.Plan.Measure(1 + len(p.Messages) + len(p.Fields) + len(p.Checkpoints) + len(p.Events) + len(p.KV) + len(p.Audit) +
		len(p.Spending) + len(p.Wishes) + len(p.Outbound))
}

// askThreads refuses rows for a missing thread, so that a run that ends after its thread was deleted
// leaves nothing behind.
func (p *batch) askThreads() {
	ids := make([]string, 0, 2)
	if p.Patch == nil && (p.Thread == nil || p.Thread.ID != p.ThreadID) {
		ids = append(ids, p.ThreadID) // the patch itself finds a missing thread
	}
	patched := p.Patch != nil && p.Run != nil && p.Run.ThreadID == p.ThreadID
	if p.Run != nil && !patched && (p.Thread == nil || p.Thread.ID != p.Run.ThreadID) &&
		!slices.Contains(ids, p.Run.ThreadID) {
		ids = append(ids, p.Run.ThreadID)
	}
	for _, id := range ids {
		if id != "" {
			p.Stmts = append(p.Stmts, askThread(id))
			if p.movesLine() {
				p.Stmts[len(p.Stmts)-1].SQL = lockThread
			}
		}
	}
}

// lockThread also keeps others from changing the thread's line.
const lockThread = `SELECT 1 FROM thread WHERE id = ?{lock}`

// askThread fails the batch when the thread does not exist.
func askThread(id string) stmt {
	return stmt{What: "thread", Of: id, SQL: `SELECT 1 FROM thread WHERE id = ?`, Args: []any{clean(id)},
		Must: ErrNotFound}
}

// objectText returns raw as text, nil if it is empty.
func objectText(raw json.RawMessage) *string {
	if raw == nil {
		return nil
	}
	s := object(raw)
	return &s
}

// copyThread takes the messages, fields and checkpoints of p.CopyFrom over to the batch's
// thread, up to the checkpoint that is its head.
func (p *batch) copyThread() {
	if p.CopyFrom == "" {
		return
	}
	head := ""
	if p.Thread != nil {
		head = p.Thread.Head
	}
	to, from := p.ThreadID, p.CopyFrom
	p.add("copy the messages of thread", from, `INSERT INTO message(thread, n, id, body)
		SELECT ?, n, id, body FROM message WHERE thread = ?`, to, from)
	p.add("copy the message numbers of thread", from, `UPDATE thread SET top = (SELECT top FROM thread WHERE id = ?2)
		WHERE id = ?1`, to, from)
	p.add("copy the fields of thread", from, `INSERT INTO field(thread, name, version, body)
		SELECT ?, name, version, body FROM field WHERE thread = ?`, to, from)
	p.add("copy the checkpoints of thread", from,
		`INSERT INTO checkpoint(thread, ns, id, parent, run, step, source, next,
		meta, card, at) SELECT ?, ns, id, parent, run, step, source, next, meta, card, at
		FROM checkpoint WHERE thread = ? AND id <= ?`, to, from, head)
	p.add("copy the blobs of thread", from, `INSERT INTO blob(thread, hash, data)
		SELECT ?1, hash, data FROM blob WHERE thread = ?2
		AND hash IN (SELECT hash FROM blob_use WHERE thread = ?2 AND kind <> 'run')`, to, from)
	p.add("copy the blobs of thread", from, `INSERT INTO blob_use(thread, kind, name, n, hash)
		SELECT ?, kind, name, n, hash FROM blob_use WHERE thread = ? AND kind <> 'run'`, to, from)
}
