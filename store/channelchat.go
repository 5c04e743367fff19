package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// ChannelChat is a chat or topic with the thread that continues in it.
type ChannelChat struct {
	Provider  string
	Chat      string
	Topic     string
	Alias     string // topic that this is an alias of
	Thread    string
	Owner     string
	Kind      string // private, group, or delivered: a message of the bot whose replies continue Thread
	Name      string
	EnabledBy string // account that let Fawn into the group
	Settings  json.RawMessage
	UpdatedAt time.Time
}

const chatColumns = `provider, chat, topic, alias, thread, owner, kind, name, enabled_by, settings, updated_at`

func scanChat(row scanner) (c ChannelChat, err error) {
	var updated int64
	var settings []byte
	err = row.Scan(&c.Provider, &c.Chat, &c.Topic, &c.Alias, &c.Thread, &c.Owner, &c.Kind, &c.Name, &c.EnabledBy,
		&settings, &updated)
	c.Settings, c.UpdatedAt = settings, fromMillis(updated)
	return c, translate(err)
}

// ChannelChat returns a chat or topic, or ErrNotFound.
func (db *DB) ChannelChat(ctx context.Context, provider, chat, topic string) (ChannelChat, error) {
	c, err := scanChat(db.one(ctx, `SELECT `+chatColumns+` FROM channel_chat
		WHERE provider = ? AND chat = ? AND topic = ?`, provider, chat, topic))
	if err != nil {
		return c, fmt.Errorf("chat of %s: %w", provider, err)
	}
	return c, nil
}

// ChannelChats returns a page of the chats and topics of a provider, or of all, without topic aliases, most recently
// used first.
func (db *DB) ChannelChats(ctx context.Context, provider string, limit, offset int) ([]ChannelChat, error) {
	list, err := rowsOf(ctx, db, `SELECT `+chatColumns+` FROM channel_chat WHERE (? = '' OR provider = ?) AND alias = ''
		ORDER BY updated_at DESC, provider, chat, topic LIMIT ? OFFSET ?`, []any{provider, provider, limit, offset}, scanChat)
	if err != nil {
		return nil, fmt.Errorf("list chats: %w", err)
	}
	return list, nil
}

// ChatsToTell returns an owner's private chats, and the groups that anyone let Fawn into, without topics, most recently
// used first, at most limit.
func (db *DB) ChatsToTell(ctx context.Context, owner string, limit int) ([]ChannelChat, error) {
	list, err := rowsOf(ctx, db, `SELECT `+chatColumns+` FROM channel_chat WHERE topic = '' AND alias = '' AND
		(kind = 'private' AND owner = ? OR kind = 'group' AND enabled_by <> '')
		ORDER BY updated_at DESC, provider, chat LIMIT ?`, []any{orDefault(owner, DefaultOwner), limit}, scanChat)
	if err != nil {
		return nil, fmt.Errorf("list the chats of %s: %w", owner, err)
	}
	return list, nil
}

// PutChannelChat stores a chat whole.
func (db *DB) PutChannelChat(ctx context.Context, c ChannelChat) error {
	if err := db.w.do(ctx, &job{apply: func(w *writer) error { return w.putChat(c) }}); err != nil {
		return fmt.Errorf("store a chat of %s: %w", c.Provider, err)
	}
	return nil
}

func (w *writer) putChat(c ChannelChat) error {
	return w.exec(`INSERT INTO channel_chat(`+chatColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT(provider, chat, topic) DO UPDATE SET alias = excluded.alias, thread = excluded.thread,
		owner = excluded.owner, kind = excluded.kind, name = excluded.name, enabled_by = excluded.enabled_by,
		settings = excluded.settings, updated_at = excluded.updated_at`,
		c.Provider, c.Chat, c.Topic, c.Alias, c.Thread, orDefault(c.Owner, DefaultOwner), c.Kind, c.Name, c.EnabledBy,
		object(c.Settings), w.engine.Now().UnixMilli())
}

// ForgetChannelChat removes a chat with its topics. Their threads stay. ErrNotFound if there is none.
func (db *DB) ForgetChannelChat(ctx context.Context, provider, chat string) error {
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		return w.changeOr(ErrNotFound, `DELETE FROM channel_chat WHERE provider = ? AND chat = ?`, provider, chat)
	}})
	if err != nil {
		return fmt.Errorf("forget a chat of %s: %w", provider, err)
	}
	return nil
}

// ChannelTurn is stored before a run of a chat starts, all or nothing.
type ChannelTurn struct {
	Run     string
	Numbers []int64     // numbers of the answered messages
	Chat    ChannelChat // the chat that continues it
	Thread  *Thread     // created if missing
	Out     Outbound    // the first piece of the answer
}

// BeginTurn stores t.
func (db *DB) BeginTurn(ctx context.Context, t ChannelTurn) error {
	err := db.w.do(ctx, &job{apply: func(w *writer) error {
		if t.Thread != nil {
			made := &batch{Batch: Batch{Thread: t.Thread, NewThread: true}, setting: w.setting()}
			made.putThread()
			if err := w.engine.Run(made.Stmts); err != nil && !errors.Is(err, ErrExists) {
				return err
			}
		}
		for _, n := range t.Numbers {
			if err := w.exec(`UPDATE channel_in SET state = 'started', run = ? WHERE n = ?`, t.Run, n); err != nil {
				return err
			}
		}
		if err := w.putChat(t.Chat); err != nil {
			return err
		}
		return w.putOutbound(t.Out, true)
	}, then: func(w *writer) { w.listed.Add(1) }})
	if err != nil {
		return fmt.Errorf("begin to answer in a chat of %s: %w", t.Chat.Provider, err)
	}
	return nil
}
