package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Batch is what changes together: it is written all or nothing, in the order of
// the fields, and empty parts are skipped. The thread that rows are written to
// must exist or be the batch's own, else ErrNotFound. Slices in a batch must not
// change until the commit has returned without a context error.
type Batch struct {
	Thread      *Thread      // written whole, in place of what is there
	NewThread   bool         // with Thread: ErrExists when the id is taken
	CopyFrom    string       // with Thread: its messages, fields and checkpoints up to Thread.Head come along
	Patch       *ThreadPatch // parts of the row of ThreadID
	ThreadID    string       // owner of Patch, Messages, Fields, Checkpoints, Events and Delete; Thread.ID when empty
	Run         *Run         // written whole, in place of what is there
	NewRun      bool         // with Run: ErrExists when the id is taken
	Messages    []MessageRow // numbers the thread never gave, else ErrConflict
	Fields      []FieldRow   // new versions only, else ErrConflict
	Checkpoints []Checkpoint // new ids only, else ErrConflict
	Events      []Event      // new rows only, else ErrConflict
	Delete      *Delete
	KV          []KV
	Audit       []AuditRow // of any threads; those of threads that do not exist are left out
	Spending    []Spending // of any threads; those of threads that do not exist are left out
}

// ThreadPatch changes parts of a thread; nil keeps.
type ThreadPatch struct {
	Status, Title, Head *string
	Metadata, Config    json.RawMessage // replace as a whole
	Merge               json.RawMessage // members written over those of the metadata as it is in that moment
	MergeNew            json.RawMessage // members written where the metadata has none of that name
	Touch               bool            // UpdatedAt becomes now
	StateTouch          bool            // StateUpdatedAt becomes now
}

// Delete takes rows of a thread away.
type Delete struct {
	Thread               bool       // the thread with everything that is its; ErrNotFound when there is none
	Runs                 []string   // run rows by id
	Checkpoints          []string   // by id, in all namespaces
	EventsFrom, EventsTo int64      // rows that start in this range, both ends included; EventsTo 0 means none
	MessagesFrom         int64      // rows with this number or a greater one, 0 means none
	Fields               []FieldRow // by name and version
	History              bool       // all but the head and what it needs: no run may be open
}

// KV is one value of a small named space. A nil Body deletes it.
type KV struct {
	Owner      string // whose space, [Global] for what the server keeps for itself or everybody
	Space, Key string
	Body       []byte
}

// Global owns values that belong to no single owner.
const Global = ""

// Commit writes b and returns when it is committed, together with whatever else
// waits. When ctx ends first, whether b takes effect is not known.
func (db *DB) Commit(ctx context.Context, b Batch) error {
	return db.w.commitBatch(ctx, nil, b)
}

// batch is a Batch with everything encoded, so that the writer only writes.
type batch struct {
	Batch
	now   int64
	cps   []checkpointText
	to    int64 // greatest Event.To
	folds int64 // tail frames up to this number are not needed after it
	blobs []blobRow
	uses  []blobUse
}

type checkpointText struct{ next, card string }

func prepare(b Batch) (*batch, error) {
	p := &batch{Batch: b, now: time.Now().UnixMilli()}
	if b.Thread != nil && b.ThreadID == "" {
		p.ThreadID = b.Thread.ID
	}
	switch {
	case b.Thread != nil && b.Thread.ID == "":
		return nil, errors.New("thread without id")
	case b.Run != nil && (b.Run.ID == "" || b.Run.ThreadID == ""):
		return nil, errors.New("run without id or thread")
	case p.ThreadID == "" && (b.Patch != nil || b.Delete != nil || len(b.Messages)+len(b.Fields)+len(b.Checkpoints)+
		len(b.Events) > 0):
		return nil, errors.New("rows without thread id")
	}
	for _, cp := range b.Checkpoints {
		next, err := json.Marshal(cp.Next)
		if err != nil {
			return nil, err
		}
		if cp.Next == nil {
			next = []byte("[]")
		}
		card, err := json.Marshal(cp.Card)
		if err != nil {
			return nil, err
		}
		p.cps = append(p.cps, checkpointText{string(next), string(card)})
	}
	for _, e := range b.Events {
		p.to = max(p.to, e.Seq, e.To)
	}
	p.takeBlobs()
	p.folds = p.to
	if b.Delete != nil {
		p.folds = max(p.folds, b.Delete.EventsTo)
	}
	return p, nil
}

// size is about how many bytes and rows p writes.
func (p *batch) size() (bytes, items int) {
	items = 1 + len(p.Messages) + len(p.Fields) + len(p.Checkpoints) + len(p.Events) + len(p.KV) + len(p.Audit) +
		len(p.Spending)
	if p.Run != nil {
		bytes += len(p.Run.Kwargs) + len(p.Run.Metadata)
	}
	for _, m := range p.Messages {
		bytes += len(m.Body)
	}
	for _, f := range p.Fields {
		bytes += len(f.Body)
	}
	for _, c := range p.cps {
		bytes += len(c.card) + len(c.next)
	}
	for _, e := range p.Events {
		bytes += len(e.Data)
	}
	for _, kv := range p.KV {
		bytes += len(kv.Body)
	}
	for _, r := range p.Audit {
		bytes += len(r.Body)
	}
	for _, b := range p.blobs {
		bytes += len(b.data)
	}
	return bytes + 256*items, items
}

// apply writes p inside the open transaction.
func (w *writer) apply(p *batch) error {
	if p.Thread != nil {
		if err := w.putThread(p); err != nil {
			return err
		}
	}
	if err := w.checkThreads(p); err != nil {
		return err
	}
	if err := w.copyThread(p); err != nil {
		return err
	}
	if p.Patch != nil {
		if err := w.patchThread(p); err != nil {
			return err
		}
	}
	if p.Run != nil {
		if err := w.putRun(p.Run, p.NewRun, p.now); err != nil {
			return err
		}
	}
	if err := w.raiseTop(p); err != nil {
		return err
	}
	for _, m := range p.Messages {
		if err := w.exec(`INSERT INTO message(thread, n, id, body) VALUES (?, ?, ?, ?)`, p.ThreadID, m.N, m.ID,
			blob(m.Body)); err != nil {
			return fmt.Errorf("write message %d of thread %s: %w", m.N, p.ThreadID, err)
		}
	}
	for _, f := range p.Fields {
		if err := w.exec(`INSERT INTO field(thread, name, version, body) VALUES (?, ?, ?, ?)`,
			p.ThreadID, f.Name, f.Version, blob(f.Body)); err != nil {
			return fmt.Errorf("write field %s version %d of thread %s: %w", f.Name, f.Version, p.ThreadID, err)
		}
	}
	if err := w.putBlobs(p); err != nil {
		return err
	}
	if err := w.putCheckpoints(p); err != nil {
		return err
	}
	if err := w.putEvents(p); err != nil {
		return err
	}
	if p.Delete != nil {
		if err := w.remove(p.ThreadID, p.Delete); err != nil {
			return err
		}
	}
	if err := w.putKV(p); err != nil {
		return err
	}
	if err := w.putAudit(p); err != nil {
		return err
	}
	return w.putSpending(p)
}

// checkThreads refuses rows for a thread that is not there, so that a run which
// ends after its thread was deleted leaves nothing behind.
func (w *writer) checkThreads(p *batch) error {
	ids := make([]string, 0, 2)
	if p.Patch == nil && (p.Thread == nil || p.Thread.ID != p.ThreadID) {
		ids = append(ids, p.ThreadID) // a patch finds out by itself
	}
	patched := p.Patch != nil && p.Run != nil && p.Run.ThreadID == p.ThreadID
	if p.Run != nil && !patched && (p.Thread == nil || p.Thread.ID != p.Run.ThreadID) &&
		!slices.Contains(ids, p.Run.ThreadID) {
		ids = append(ids, p.Run.ThreadID)
	}
	for _, id := range ids {
		if id == "" {
			continue
		}
		s, err := w.stmt(`SELECT 1 FROM thread WHERE id = ?`)
		if err != nil {
			return err
		}
		var one int
		if err := s.QueryRowContext(context.Background(), id).Scan(&one); err != nil {
			return fmt.Errorf("thread %s: %w", id, translate(err))
		}
	}
	return nil
}

// remove deletes what d names.
func (w *writer) remove(thread string, d *Delete) error {
	if d.Thread {
		return w.removeThread(thread)
	}
	for _, id := range d.Runs {
		if err := w.exec(`DELETE FROM run WHERE id = ? AND thread = ?`, id, thread); err != nil {
			return fmt.Errorf("delete run %s: %w", id, err)
		}
		if err := w.exec(`DELETE FROM span WHERE thread = ? AND run = ?`, thread, id); err != nil {
			return fmt.Errorf("delete what run %s took: %w", id, err)
		}
		if err := w.exec(`DELETE FROM feedback WHERE thread = ? AND run = ?`, thread, id); err != nil {
			return fmt.Errorf("delete feedback on run %s: %w", id, err)
		}
		if err := w.exec(`DELETE FROM kv WHERE owner = '' AND space = ? AND key = ?`, ChangesSpace,
			ChangesKey(thread, id)); err != nil {
			return fmt.Errorf("delete the changes of run %s: %w", id, err)
		}
	}
	for _, id := range d.Checkpoints {
		n, err := w.change(`DELETE FROM checkpoint WHERE thread = ? AND ns = '' AND id = ?`, thread, id)
		if err == nil && n == 0 {
			err = w.exec(`DELETE FROM checkpoint WHERE thread = ? AND id = ?`, thread, id)
		}
		if err != nil {
			return fmt.Errorf("delete checkpoint %s: %w", id, err)
		}
	}
	if d.EventsTo > 0 {
		if err := w.exec(`DELETE FROM event WHERE thread = ? AND "to" >= ? AND seq BETWEEN ? AND ?`,
			thread, d.EventsFrom, d.EventsFrom, d.EventsTo); err != nil {
			return fmt.Errorf("delete events of thread %s: %w", thread, err)
		}
		if err := w.raiseSeq(thread, d.EventsTo); err != nil {
			return err
		}
	}
	if d.MessagesFrom > 0 {
		if err := w.exec(`DELETE FROM message WHERE thread = ? AND n >= ?`, thread, d.MessagesFrom); err != nil {
			return fmt.Errorf("delete messages of thread %s: %w", thread, err)
		}
	}
	for _, f := range d.Fields {
		if err := w.exec(`DELETE FROM field WHERE thread = ? AND name = ? AND version = ?`, thread, f.Name,
			f.Version); err != nil {
			return fmt.Errorf("delete field %s of thread %s: %w", f.Name, thread, err)
		}
	}
	if d.History {
		if err := w.removeHistory(thread); err != nil {
			return fmt.Errorf("delete the history of thread %s: %w", thread, err)
		}
	}
	if d.History || d.MessagesFrom > 0 || len(d.Runs) > 0 || len(d.Fields) > 0 {
		if err := w.dropBlobs(thread); err != nil {
			return err
		}
	}
	if d.History || len(d.Checkpoints) > 0 {
		return w.dropShare(thread)
	}
	return nil
}
