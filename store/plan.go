package store

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// stmt is one statement of a batch. A batch is planned as a list of them without reading
// anything, so that every kind of database carries out the same, in a savepoint or as a pipeline.
type stmt struct {
	what, of string // for errors: "write messages of thread", and the thread
	sql      string // constant; SELECT checks whether a row exists
	args     []any
	must     error // error if no row was changed or found, nil if that is fine
	wipe     bool  // overwrite the row's old content, not only free it
	found    *bool // set to whether a row was changed or found; may be nil
	more     *bool // set to true if a row was changed or found
}

// told reports the number of rows that a statement changed or found.
func (s *stmt) told(rows int64) error {
	if s.found != nil {
		*s.found = rows > 0
	}
	if s.more != nil && rows > 0 {
		*s.more = true
	}
	if rows == 0 {
		return s.must
	}
	return nil
}

// setting is the context of a plan besides its batch.
type setting struct {
	now                   time.Time
	incarnation           int64 // incarnation of a thread the batch creates
	self                  int64 // server of the batch
	node                  int64 // server for the runs it brings to the front, 0 for any with room
	noEvents              bool
	auditRows, auditBytes int64
}

// batch is a Batch as it will be written.
type batch struct {
	Batch
	setting
	stmts        []stmt
	to           int64 // greatest Event.To
	folds        int64 // afterwards tail frames up to this number are unneeded
	bytes, items int   // approximate size of its writes
	blobs        []blobRow
	uses         []blobUse
}

// removesThread reports whether the tail must forget the thread, too.
func (p *batch) removesThread() bool { return p.Delete != nil && p.Delete.Thread }

// calm reports whether p isn't urgent: it holds no part of a thread.
func (p *batch) calm() bool { return p.ThreadID == "" && p.Run == nil && len(p.Wishes) == 0 }

// shrinks reports whether p deletes much.
func (p *batch) shrinks() bool { return p.removesThread() || p.Delete != nil && p.Delete.History }

// setting returns the current setting.
func (w *writer) setting() setting {
	s := setting{now: w.clock.now(), incarnation: 1 + rand.Int64N(1<<62), self: w.node, node: w.node,
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
		p.to = max(p.to, e.Seq, e.To)
	}
	p.folds = p.to
	if b.Delete != nil {
		p.folds = max(p.folds, b.Delete.EventsTo)
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
	p.stmts = append(p.stmts, stmt{what: what, of: of, sql: sql, args: args})
	return &p.stmts[len(p.stmts)-1]
}

// measure adds up about how many bytes and rows p writes.
func (p *batch) measure() {
	p.items = 1 + len(p.Messages) + len(p.Fields) + len(p.Checkpoints) + len(p.Events) + len(p.KV) + len(p.Audit) +
		len(p.Spending) + len(p.Wishes) + len(p.Outbound)
	p.bytes = 256 * p.items
	for _, s := range p.stmts {
		for _, a := range s.args {
			switch a := a.(type) {
			case string:
				p.bytes += len(a)
			case []byte:
				p.bytes += len(a)
			}
		}
	}
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
			p.stmts = append(p.stmts, askThread(id))
			if p.movesLine() {
				p.stmts[len(p.stmts)-1].sql = lockThread
			}
		}
	}
}

// lockThread also keeps others from changing the thread's line.
const lockThread = `SELECT 1 FROM thread WHERE id = ?{lock}`

// askThread fails the batch when the thread does not exist.
func askThread(id string) stmt {
	return stmt{what: "thread", of: id, sql: `SELECT 1 FROM thread WHERE id = ?`, args: []any{clean(id)},
		must: ErrNotFound}
}

// clean returns s in a form that all databases accept: U+0000 and invalid UTF-8 are replaced. Bodies
// are bytes and stay unchanged.
func clean(s string) string {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

func cleanAll(args []any) {
	for i, a := range args {
		switch a := a.(type) {
		case string:
			if c := clean(a); len(c) != len(a) || c != a {
				args[i] = c
			}
		case *string:
			if a != nil {
				args[i] = clean(*a)
			}
		case bool: // columns have numbers
			args[i] = 0
			if a {
				args[i] = 1
			}
		}
	}
}

// objectText returns raw as text, nil if it is empty.
func objectText(raw json.RawMessage) *string {
	if raw == nil {
		return nil
	}
	s := object(raw)
	return &s
}
