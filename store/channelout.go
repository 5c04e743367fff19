package store

import (
	"context"
	"fmt"
	"time"
)

// States of an [Outbound]. The first three are open.
const (
	OutboundPlanned = "planned"
	OutboundSending = "sending" // a call is under way: it is unknown whether the message exists
	OutboundOpen    = "open"    // it shows part of the answer
	OutboundDone    = "done"
	OutboundFailed  = "failed"
	OutboundUnknown = "unknown" // it may have been sent, and sending it again could show it twice
)

// Outbound is one message of the answer to a chat.
type Outbound struct {
	Run      string
	Piece    string // "0", "1", ... of the text, "f0", ... for files
	Provider string
	Chat     string
	Topic    string
	Place    []byte // destination and message replied to
	Message  string // the platform's id
	State    string
	Hash     string // hash of the visible text
	Cursor   int64  // shown part of the run's log
	Tries    int    // consecutive failures
	NextAt   time.Time
	Error    string
	At       time.Time
}

const outboundColumns = `run, piece, provider, chat, topic, place, message, state, hash, cursor, tries, next_at, error, at`

func scanOutbound(row scanner) (o Outbound, err error) {
	var next, at int64
	err = row.Scan(&o.Run, &o.Piece, &o.Provider, &o.Chat, &o.Topic, &o.Place, &o.Message, &o.State, &o.Hash, &o.Cursor,
		&o.Tries, &next, &o.Error, &at)
	o.NextAt, o.At = fromMillis(next), fromMillis(at)
	return o, translate(err)
}

// PutOutbound stores messages whole, together with other names of topics.
func (db *DB) PutOutbound(ctx context.Context, list []Outbound, names ...ChannelChat) error {
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		for _, o := range list {
			if err := w.putOutbound(o, false); err != nil {
				return err
			}
		}
		for _, c := range names {
			if err := w.putChat(c); err != nil {
				return err
			}
		}
		return nil
	}})
	if err != nil {
		return fmt.Errorf("store a sent message: %w", err)
	}
	return nil
}

const insertOutbound = `INSERT INTO channel_out(` + outboundColumns + `)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT(run, piece) DO NOTHING`

const replaceOutbound = `INSERT INTO channel_out(` + outboundColumns + `)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT(run, piece) DO UPDATE SET place = excluded.place, message = excluded.message, state = excluded.state,
		hash = excluded.hash, cursor = excluded.cursor, tries = excluded.tries, next_at = excluded.next_at,
		error = excluded.error`

func (o Outbound) args(now int64) []any {
	return []any{o.Run, o.Piece, o.Provider, o.Chat, o.Topic, blob(o.Place), o.Message, o.State, o.Hash,
		o.Cursor, o.Tries, millis(o.NextAt), o.Error, orNow(o.At, now)}
}

func (w *writer) putOutbound(o Outbound, keep bool) error {
	query := replaceOutbound
	if keep {
		query = insertOutbound
	}
	return w.exec(query, o.args(w.engine.Now().UnixMilli())...)
}

func (p *batch) planOutbound() {
	for _, o := range p.Outbound {
		p.add("plan what a chat is told of run", o.Run, insertOutbound, o.args(p.now.UnixMilli())...)
	}
}

// Outbound returns the messages of an answer.
func (db *DB) Outbound(ctx context.Context, run string) ([]Outbound, error) {
	return db.outbound(ctx, `SELECT `+outboundColumns+` FROM channel_out WHERE run = ? ORDER BY piece`, run)
}

// OpenAnswers returns the first message of each unfinished answer of a provider, oldest first.
func (db *DB) OpenAnswers(ctx context.Context, provider string) ([]Outbound, error) {
	return db.outbound(ctx, `SELECT `+outboundColumns+` FROM channel_out WHERE piece = '0' AND provider = ? AND run IN
		(SELECT run FROM channel_out WHERE state IN ('planned', 'sending', 'open')) ORDER BY at, run`, provider)
}

// LastAnswer returns the first message of the newest answer in a chat or topic, or ErrNotFound.
func (db *DB) LastAnswer(ctx context.Context, provider, chat, topic string) (Outbound, error) {
	o, err := scanOutbound(db.one(ctx,
		`SELECT `+outboundColumns+` FROM channel_out WHERE provider = ? AND chat = ? AND topic = ? AND
		piece = '0' ORDER BY at DESC, run DESC LIMIT 1`, provider, chat, topic))
	if err != nil {
		return o, fmt.Errorf("last answer in a chat of %s: %w", provider, err)
	}
	return o, nil
}

// LostBefore reports whether a message of the answer before one, in the same chat or topic, may not have been sent.
func (db *DB) LostBefore(ctx context.Context, o Outbound) (lost bool, err error) {
	err = db.queryRow(ctx, `SELECT count(*) > 0 FROM channel_out WHERE state = 'unknown' AND run = (SELECT run FROM channel_out
		WHERE provider = ? AND chat = ? AND topic = ? AND piece = '0' AND (at < ? OR at = ? AND run < ?)
		ORDER BY at DESC, run DESC LIMIT 1)`,
		[]any{o.Provider, o.Chat, o.Topic, millis(o.At), millis(o.At), o.Run}, &lost)
	if err != nil {
		err = fmt.Errorf("look up the previous answer on %s: %w", o.Provider, err)
	}
	return lost, err
}

// Undelivered returns the messages of answers that could not be delivered, newest first, at most limit.
func (db *DB) Undelivered(ctx context.Context, limit int) ([]Outbound, error) {
	return db.outbound(ctx, `SELECT `+outboundColumns+` FROM channel_out WHERE state IN ('failed', 'unknown')
		ORDER BY at DESC, run, piece LIMIT ?`, limit)
}

// EndAnswer drops the unsent rest of an answer.
func (db *DB) EndAnswer(ctx context.Context, run, reason string) error {
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		return w.exec(`UPDATE channel_out SET state = 'failed', error = ?, tries = 0, next_at = 0
			WHERE run = ? AND state IN ('planned', 'sending', 'open')`, reason, run)
	}})
	if err != nil {
		return fmt.Errorf("give up the answer of run %s: %w", run, err)
	}
	return nil
}

// RenewAnswer sends an answer again as new messages. ErrNotFound if there is none.
func (db *DB) RenewAnswer(ctx context.Context, run string) error {
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		if err := w.exec(`DELETE FROM channel_out WHERE run = ? AND piece <> '0'`, run); err != nil {
			return err
		}
		return w.changeOr(ErrNotFound, `UPDATE channel_out SET message = '', state = 'planned', hash = '', cursor = 0, tries = 0,
			next_at = 0, error = '', at = ? WHERE run = ?`, w.engine.Now().UnixMilli(), run)
	}})
	if err != nil {
		return fmt.Errorf("send the answer of run %s again: %w", run, err)
	}
	return nil
}

func (db *DB) outbound(ctx context.Context, query string, args ...any) ([]Outbound, error) {
	list, err := rowsOf(ctx, db, query, args, scanOutbound)
	if err != nil {
		return nil, fmt.Errorf("read sent messages: %w", err)
	}
	return list, nil
}
