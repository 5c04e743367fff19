package store

import (
	"context"
	"encoding/json"
)

// Batch is a set of changes that are written together or not at all, in the order of the fields; empty parts are
// skipped. The thread that rows are written to must exist or be the batch's own, else ErrNotFound. Slices in a batch
// must not change until the commit has returned without a context error.
type Batch struct {
	Thread      *Thread      // replaces the stored row
	NewThread   bool         // with Thread: ErrExists when the id is taken
	CopyFrom    string       // with Thread: also copies its messages, fields and checkpoints up to Thread.Head
	Patch       *ThreadPatch // changes to the row of ThreadID
	ThreadID    string       // owner of Patch, Messages, Fields, Checkpoints, Events and Delete; Thread.ID when empty
	Run         *Run         // replaces the stored row
	NewRun      bool         // with Run: ErrExists when the id is taken
	Outbound    []Outbound   // first messages to chats; existing ones are unchanged
	Line        *Line        // changes the line of ThreadID
	Wishes      []Wish       // for any runs; those of ended runs are skipped
	Messages    []MessageRow // numbers new to the thread, else ErrConflict
	Fields      []FieldRow   // new versions only, else ErrConflict
	Checkpoints []Checkpoint // new ids only, else ErrConflict
	Events      []Event      // new rows only, else ErrConflict
	Delete      *Delete
	KV          []KV
	Audit       []AuditRow // of any threads; those of missing threads are skipped
	Spending    []Spending // of any threads; those of missing threads are skipped
}

// ThreadPatch changes parts of a thread; nil keeps.
type ThreadPatch struct {
	Status, Title, Head *string
	From                *string         // the head that is changed, else ErrConflict
	TitleWas            *string         // unless nil, Title only replaces this one
	Metadata, Config    json.RawMessage // replace as a whole
	Merge               json.RawMessage // members merged into the stored metadata at commit
	MergeNew            json.RawMessage // members added if the metadata has none of that name
	Touch               bool            // sets UpdatedAt to now
	StateTouch          bool            // sets StateUpdatedAt to now
}

// Delete removes rows of a thread.
type Delete struct {
	Thread               bool       // the whole thread; ErrNotFound if it doesn't exist
	Runs                 []string   // run rows by id
	Checkpoints          []string   // by id, in all namespaces
	EventsFrom, EventsTo int64      // rows that start in this range, both ends included; EventsTo 0 means none
	MessagesFrom         int64      // rows with this number or a greater one, 0 means none
	Fields               []FieldRow // by name and version
	History              bool       // everything but the head and its dependencies: no run may be open
}

// KV is one value of a small named space. A nil Body deletes it.
type KV struct {
	Owner      string // owner of the space, [Global] for the server's own data
	Space, Key string
	Body       []byte
}

// Global owns values that belong to no single owner.
const Global = ""

// Commit writes b together with other pending work and returns when it is committed. If ctx ends
// first, it is unknown whether b takes effect.
func (db *DB) Commit(ctx context.Context, b Batch) error {
	if err := db.admit(ctx, &b); err != nil {
		return err
	}
	return db.w.commitBatch(ctx, nil, b)
}

func (p *batch) putMessages() {
	p.raiseTop()
	for _, m := range p.Messages {
		p.add("write messages of thread", p.ThreadID, `INSERT INTO message(thread, n, id, body) VALUES (?, ?, ?, ?)`,
			p.ThreadID, m.N, m.ID, blob(m.Body))
	}
}

func (p *batch) putFields() {
	for _, f := range p.Fields {
		p.add("write fields of thread", p.ThreadID,
			`INSERT INTO field(thread, name, version, body) VALUES (?, ?, ?, ?)`, p.ThreadID, f.Name, f.Version,
			blob(f.Body))
	}
}

// remove applies p.Delete.
func (p *batch) remove() {
	d, thread := p.Delete, p.ThreadID
	if d == nil {
		return
	}
	if d.Thread {
		p.removeThread()
		return
	}
	for _, id := range d.Runs {
		p.removeRun(id)
	}
	for _, id := range d.Checkpoints { // two calls, since the key begins with thread and namespace
		p.add("delete checkpoint", id, `DELETE FROM checkpoint WHERE thread = ? AND ns = '' AND id = ?`, thread, id)
		p.add("delete checkpoint", id, `DELETE FROM checkpoint WHERE thread = ? AND ns > '' AND id = ?`, thread, id)
	}
	if d.EventsTo > 0 {
		p.add("delete events of thread", thread,
			`DELETE FROM event WHERE thread = ? AND "to" >= ? AND seq BETWEEN ? AND ?`, thread, d.EventsFrom,
			d.EventsFrom, d.EventsTo)
		p.raiseSeq(d.EventsTo)
	}
	if d.MessagesFrom > 0 {
		p.add("delete messages of thread", thread, `DELETE FROM message WHERE thread = ? AND n >= ?`, thread,
			d.MessagesFrom)
	}
	for _, f := range d.Fields {
		p.add("delete fields of thread", thread, `DELETE FROM field WHERE thread = ? AND name = ? AND version = ?`,
			thread, f.Name, f.Version)
	}
	if d.History {
		p.removeHistory()
	}
	if d.History || d.MessagesFrom > 0 || len(d.Runs) > 0 || len(d.Fields) > 0 {
		p.dropBlobs()
	}
	if d.History || len(d.Checkpoints) > 0 {
		p.dropShare()
	}
}

func (p *batch) removeRun(id string) {
	thread := p.ThreadID
	p.add("delete run", id, `DELETE FROM run WHERE id = ? AND thread = ?`, id, thread)
	p.add("delete what was taken by run", id, `DELETE FROM span WHERE thread = ? AND run = ?`, thread, id)
	p.add("delete feedback on run", id, `DELETE FROM feedback WHERE thread = ? AND run = ?`, thread, id)
	p.add("delete the changes of run", id, `DELETE FROM kv WHERE owner = '' AND space = ? AND key = ?`,
		ChangesSpace, ChangesKey(thread, id))
}
