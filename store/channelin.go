package store

import (
	"context"
	"fmt"
	"time"
)

// ChannelSpace holds the read position of each platform. Keys begin with the platform's name and a space.
const ChannelSpace = "channel"

// States of an [Inbound]. The first three are open.
const (
	InboundNew     = "new"
	InboundWaiting = "waiting" // admitted, for the next run of its line
	InboundStarted = "started" // the input of Run
	InboundDone    = "done"
	InboundRefused = "refused"
	InboundFailed  = "failed"
)

// Inbound is a message that was received from a chat app.
type Inbound struct {
	N        int64 // increasing arrival number; set by TakeInbound
	Provider string
	ID       string
	Chat     string
	Topic    string
	At       time.Time
	Run      string
	State    string
	Reason   string
	Body     []byte
}

const inboundColumns = `n, provider, id, chat, topic, at, run, state, reason, body`

func scanInbound(row scanner) (in Inbound, err error) {
	var at int64
	err = row.Scan(&in.N, &in.Provider, &in.ID, &in.Chat, &in.Topic, &at, &in.Run, &in.State, &in.Reason, &in.Body)
	in.At = fromMillis(at)
	return in, translate(err)
}

// TakeInbound stores messages of a platform with its read cursor, and returns the new ones. A message that was stored
// before is left out.
func (db *DB) TakeInbound(ctx context.Context, provider string, list []Inbound,
	cursor map[string]string) (fresh []Inbound, err error) {
	err = db.w.do(ctx, &job{apply: func(w *writer) error {
		fresh = fresh[:0]
		s, err := w.stmt(`INSERT INTO channel_in(provider, id, chat, topic, at, run, state, reason, body)
			VALUES (?, ?, ?, ?, ?, '', ?, ?, ?) ON CONFLICT(provider, id) DO NOTHING RETURNING n`)
		if err != nil {
			return err
		}
		for _, in := range list {
			rows, err := w.ids(s, provider, in.ID, in.Chat, in.Topic, millis(in.At), in.State, in.Reason, blob(in.Body))
			if err != nil {
				return err
			}
			if len(rows) == 0 {
				continue
			}
			if _, err := fmt.Sscan(rows[0], &in.N); err != nil {
				return err
			}
			fresh = append(fresh, in)
		}
		var kv []KV
		for key, value := range cursor {
			kv = append(kv, KV{Space: ChannelSpace, Key: provider + " " + key, Body: []byte(value)})
		}
		return w.putKV(kv)
	}})
	if err != nil {
		return nil, fmt.Errorf("store messages of %s: %w", provider, err)
	}
	return fresh, nil
}

// SettleInbound changes the state of messages. Messages that are no longer open lose their body.
func (db *DB) SettleInbound(ctx context.Context, state, reason string, numbers ...int64) error {
	err := db.w.do(ctx, &job{apply: func(w *writer) error { return w.settleInbound(state, reason, numbers) }})
	if err != nil {
		return fmt.Errorf("settle received messages: %w", err)
	}
	return nil
}

// EndInbound is SettleInbound for the messages that a run took. It doesn't use their numbers, because SQLite reuses
// numbers of rows deleted with a thread.
func (db *DB) EndInbound(ctx context.Context, state, reason, run string) error {
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		return w.exec(`UPDATE channel_in SET state = ?, reason = ?, body = CAST('' AS {bytes})
			WHERE run = ? AND run <> '' AND state = 'started'`, state, reason, run)
	}})
	if err != nil {
		return fmt.Errorf("settle messages of run %s: %w", run, err)
	}
	return nil
}

func (w *writer) settleInbound(state, reason string, numbers []int64) error {
	open := state == InboundNew || state == InboundWaiting || state == InboundStarted
	for _, n := range numbers {
		if err := w.exec(`UPDATE channel_in SET state = ?, reason = ?, body = CASE WHEN ? = 1 THEN body ELSE CAST('' AS {bytes}) END
			WHERE n = ?`, state, reason, open, n); err != nil {
			return err
		}
	}
	return nil
}

// WaitingInbound returns the oldest messages of a line that no run has taken, up to limit. The query repeats the index's
// condition literally, since SQLite doesn't detect that another one implies it.
func (db *DB) WaitingInbound(ctx context.Context, provider, chat, topic string, limit int) ([]Inbound, error) {
	return db.inbound(ctx, `SELECT `+inboundColumns+` FROM channel_in WHERE provider = ? AND chat = ? AND topic = ?
		AND state IN ('new', 'waiting', 'started') AND state <> 'started' ORDER BY n LIMIT ?`, provider, chat, topic, limit)
}

// RunInbound returns the messages a run has taken and not yet done with, oldest first.
func (db *DB) RunInbound(ctx context.Context, run string) ([]Inbound, error) {
	return db.inbound(ctx, `SELECT `+inboundColumns+` FROM channel_in WHERE run = ? AND run <> ''
		AND state = 'started' ORDER BY n`, run)
}

// A ChannelLine names the messages of one chat and topic. Run is the run that works on some of them.
type ChannelLine struct{ Provider, Chat, Topic, Run string }

// OpenLines returns the chats of a provider that have open messages, once per run that took some and once for messages
// without a run.
func (db *DB) OpenLines(ctx context.Context, provider string) ([]ChannelLine, error) {
	list, err := rowsOf(ctx, db, `SELECT chat, topic, run FROM channel_in WHERE provider = ?
		AND state IN ('new', 'waiting', 'started') GROUP BY chat, topic, run ORDER BY min(n)`, []any{provider},
		func(rows scanner) (l ChannelLine, err error) {
			l = ChannelLine{Provider: provider}
			err = rows.Scan(&l.Chat, &l.Topic, &l.Run)
			return l, err
		})
	if err != nil {
		return nil, fmt.Errorf("list open messages of %s: %w", provider, err)
	}
	return list, nil
}

// CountWaiting returns the number of a provider's messages not taken by a run yet.
func (db *DB) CountWaiting(ctx context.Context, provider string) (n int, err error) {
	err = db.queryRow(ctx, `SELECT count(*) FROM channel_in WHERE provider = ? AND state IN ('new', 'waiting', 'started')
		AND state <> 'started'`, []any{provider}, &n)
	if err != nil {
		err = fmt.Errorf("count waiting messages of %s: %w", provider, err)
	}
	return n, err
}

// ForgetInbound removes the rows of messages that were done with before a time. A platform that delivers one
// of them once more would be heard again.
func (db *DB) ForgetInbound(ctx context.Context, before time.Time) error {
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		if err := w.exec(`DELETE FROM channel_in WHERE state NOT IN ('new', 'waiting', 'started') AND at < ?`,
			millis(before)); err != nil {
			return err
		}
		return w.exec(`DELETE FROM channel_out WHERE state NOT IN ('planned', 'sending', 'open') AND at < ?`,
			millis(before))
	}})
	if err != nil {
		return fmt.Errorf("forget old messages: %w", err)
	}
	return nil
}

func (db *DB) inbound(ctx context.Context, query string, args ...any) ([]Inbound, error) {
	list, err := rowsOf(ctx, db, query, args, scanInbound)
	if err != nil {
		return nil, fmt.Errorf("read received messages: %w", err)
	}
	return list, nil
}
