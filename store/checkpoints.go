package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Range is message numbers From..To, both included. Its JSON is [From,To].
type Range struct{ From, To int64 }

// MarshalJSON writes [From,To].
func (r Range) MarshalJSON() ([]byte, error) { return fmt.Appendf(nil, "[%d,%d]", r.From, r.To), nil }

// UnmarshalJSON reads [From,To].
func (r *Range) UnmarshalJSON(b []byte) error {
	var pair []int64
	if err := json.Unmarshal(b, &pair); err != nil {
		return err
	}
	if len(pair) != 2 {
		return fmt.Errorf("range %s: two numbers expected", b)
	}
	r.From, r.To = pair[0], pair[1]
	return nil
}

// Card lists the rows of a state: message numbers in conversation order, one version of each field, and one of the
// files.
type Card struct {
	Messages []Range          `json:"messages,omitempty"`
	Fields   map[string]int64 `json:"fields,omitempty"`
	Tree     int64            `json:"tree,omitempty"` // version of the files, if they are versioned; or NoTree
}

// Has reports whether the card names a message.
func (c Card) Has(message int64) bool {
	for _, r := range c.Messages {
		if r.From <= message && message <= r.To {
			return true
		}
	}
	return false
}

// Last returns the number of the newest message, 0 without any.
func (c Card) Last() int64 {
	if n := len(c.Messages); n > 0 {
		return c.Messages[n-1].To
	}
	return 0
}

// Checkpoint is a thread's state after one step. Ids sort as text by age.
type Checkpoint struct {
	ID     string
	Parent string // "" for the first
	Thread string // the batch's thread when written
	NS     string // "" is the root namespace
	Run    string
	Step   int
	Source string
	Next   []string
	Meta   json.RawMessage // an object; nil is written as {}
	Card   Card
	At     time.Time // zero is written as now
}

// MessageRow is a stored message. N counts per thread and is never reused; Body
// is JSON in the form the API shows.
type MessageRow struct {
	N    int64
	ID   string
	Body []byte
}

// FieldRow is one version of a state field, Body as in MessageRow.
type FieldRow struct {
	Name    string
	Version int64
	Body    []byte
}

const checkpointColumns = `c.thread, c.ns, c.id, c.parent, c.run, c.step, c.source, c.next, c.meta, c.card, c.at`

func scanCheckpoint(row scanner) (c Checkpoint, err error) {
	var meta, next, card []byte
	var at int64
	if err := row.Scan(&c.Thread, &c.NS, &c.ID, &c.Parent, &c.Run, &c.Step, &c.Source, &next, &meta, &card,
		&at); err != nil {
		return c, translate(err)
	}
	c.Meta, c.At = meta, fromMillis(at)
	if err := json.Unmarshal(next, &c.Next); err != nil {
		return c, fmt.Errorf("decode next of checkpoint %s: %w", c.ID, err)
	}
	if err := json.Unmarshal(card, &c.Card); err != nil {
		return c, fmt.Errorf("decode card of checkpoint %s: %w", c.ID, err)
	}
	return c, nil
}

// Checkpoint returns a checkpoint, or ErrNotFound. Without an id it is the
// thread's head in the root namespace, the newest one in any other.
func (db *DB) Checkpoint(ctx context.Context, thread, ns, id string) (Checkpoint, error) {
	query, args := checkpointQuery(thread, ns, id)
	c, err := scanCheckpoint(db.one(db.brief(ctx), query, args...))
	if err != nil {
		return Checkpoint{}, fmt.Errorf("read checkpoint of thread %s: %w", thread, err)
	}
	return c, nil
}

func checkpointQuery(thread, ns, id string) (string, []any) {
	switch {
	case id != "":
		return `SELECT ` + checkpointColumns + ` FROM checkpoint c WHERE c.thread = ? AND c.ns = ? AND c.id = ?`,
			[]any{thread, ns, id}
	case ns != "":
		return `SELECT ` + checkpointColumns +
			` FROM checkpoint c WHERE c.thread = ? AND c.ns = ? ORDER BY c.id DESC LIMIT 1`, []any{thread, ns}
	}
	return `SELECT ` + checkpointColumns +
		` FROM thread t JOIN checkpoint c ON c.thread = t.id AND c.ns = '' AND c.id = t.head
		WHERE t.id = ?`, []any{thread}
}

// Checkpoints returns checkpoints of one namespace, newest first. With before
// only older ones; limit <= 0 means all; match, when not nil, selects before
// limit counts.
func (db *DB) Checkpoints(ctx context.Context, thread, ns string, before string, limit int,
	match func(Checkpoint) bool) ([]Checkpoint, error) {
	list := []Checkpoint{}
	query, args := `SELECT `+checkpointColumns+` FROM checkpoint c WHERE c.thread = ? AND c.ns = ?`, []any{thread, ns}
	if before != "" {
		query, args = query+` AND c.id < ?`, append(args, before)
	}
	err := db.each(ctx, query+` ORDER BY c.id DESC`, args, func(rows *sql.Rows) (bool, error) {
		c, err := scanCheckpoint(rows)
		if err != nil {
			return false, err
		}
		if match == nil || match(c) {
			list = append(list, c)
		}
		return limit <= 0 || len(list) < limit, nil
	})
	if err != nil {
		return nil, fmt.Errorf("list checkpoints of thread %s: %w", thread, err)
	}
	return list, nil
}

// Standing is the position after which a thread's next rows are added.
type Standing struct {
	Head   string
	Title  string
	Top    int64            // greatest message number the thread ever gave, 0 when none
	Fields map[string]int64 // greatest version of each field, never nil
	Next   int64            // number of the next event; 0 if only [DB.LastSeq] can tell
}

// Standing reads it all as of one moment. ErrNotFound if the thread doesn't exist.
func (db *DB) Standing(ctx context.Context, thread string) (Standing, error) {
	var s Standing
	last, _, all := db.w.Known(thread, !db.Shared())
	var fields []byte
	var folded int64
	err := db.queryRow(db.brief(ctx), `SELECT head, title, `+standingColumns+` FROM thread t WHERE id = ?`, []any{thread},
		&s.Head, &s.Title, &s.Top, &folded, &fields)
	if failed := s.take(fields, last, folded, all); err == nil {
		err = failed
	}
	if err != nil {
		return s, fmt.Errorf("thread %s: %w", thread, err)
	}
	return s, nil
}

// standingColumns select the last message, the last folded event and the fields of a [Standing].
const standingColumns = `top, seq, (SELECT {object}(name, version) FROM
	(SELECT name, max(version) AS version FROM field WHERE thread = t.id GROUP BY name) f)`

// take sets the fields and the next number. last, folded and all are as in [DB.lastSeq].
func (s *Standing) take(fields []byte, last, folded int64, all bool) error {
	s.Fields = map[string]int64{}
	if all {
		s.Next = max(last, folded) + 1
	}
	if len(fields) <= len("{}") {
		return nil
	}
	return json.Unmarshal(fields, &s.Fields)
}

// Opening holds a thread, its standing and whether the owner is disabled, as read at the beginning of a run.
type Opening struct {
	Thread   Thread // without an id if it doesn't exist
	Standing Standing
	Barred   bool // the owner of the run is disabled; only known of a thread that exists
}

// Opening reads it all as of one moment. A missing thread is no error.
func (db *DB) Opening(ctx context.Context, thread, owner string) (o Opening, err error) {
	last, _, all := db.w.Known(thread, !db.Shared())
	var fields []byte
	var folded int64
	o.Thread, err = scanThread(db.one(db.brief(ctx), `SELECT `+threadColumns+`, `+standingColumns+`,
		EXISTS (SELECT 1 FROM "user" u WHERE u.id = ? AND u.disabled <> 0) FROM thread t WHERE t.id = ?`,
		orDefault(owner, DefaultOwner), thread), &o.Standing.Top, &folded, &fields, &o.Barred)
	if errors.Is(err, ErrNotFound) {
		o.Thread, err = Thread{}, nil
	}
	o.Standing.Head, o.Standing.Title = o.Thread.Head, o.Thread.Title
	if failed := o.Standing.take(fields, last, folded, all); err == nil {
		err = failed
	}
	if err != nil {
		return o, fmt.Errorf("thread %s: %w", thread, err)
	}
	return o, nil
}

// MaxMessage returns the greatest number of the messages a thread has, 0 when none.
func (db *DB) MaxMessage(ctx context.Context, thread string) (int64, error) {
	var n int64
	err := db.queryRow(ctx, `SELECT coalesce(max(n), 0) FROM message WHERE thread = ?`, []any{thread}, &n)
	if err != nil {
		return 0, fmt.Errorf("read messages of thread %s: %w", thread, err)
	}
	return n, nil
}

// FieldVersions returns the greatest version of each field of a thread.
func (db *DB) FieldVersions(ctx context.Context, thread string) (map[string]int64, error) {
	versions := map[string]int64{}
	err := db.each(ctx, `SELECT name, max(version) FROM field WHERE thread = ? GROUP BY name`, []any{thread},
		func(rows *sql.Rows) (bool, error) {
			var name string
			var v int64
			err := rows.Scan(&name, &v)
			versions[name] = v
			return true, err
		})
	if err != nil {
		return nil, fmt.Errorf("read fields of thread %s: %w", thread, err)
	}
	return versions, nil
}

func (p *batch) putCheckpoints() error {
	for _, c := range p.Checkpoints {
		if c.Next == nil {
			c.Next = []string{}
		}
		next, err := json.Marshal(c.Next)
		if err != nil {
			return err
		}
		card, err := json.Marshal(c.Card)
		if err != nil {
			return err
		}
		p.add("write checkpoint", c.ID, `INSERT INTO checkpoint(thread, ns, id, parent, run, step, source, next, meta,
			card, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			p.ThreadID, c.NS, c.ID, c.Parent, c.Run, c.Step, c.Source, string(next), object(c.Meta), string(card),
			orNow(c.At, p.now.UnixMilli()))
	}
	return nil
}
