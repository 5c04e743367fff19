package channels

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"fawn/agent"
	"fawn/agent/channels/chat"
	"fawn/store"
)

// inbox stores incoming updates of a platform.
type inbox struct{ b *bot }

// maxBody is most that the row of one message takes.
const maxBody = 64 << 10

// Take implements chat.Inbox.
func (in *inbox) Take(ctx context.Context, batch []chat.Update, cursor map[string]string) error {
	b := in.b
	if err := b.makeRoom(ctx); err != nil {
		return err
	}
	var list []store.Inbound
	for _, u := range batch {
		row, err := b.row(ctx, u)
		if err != nil {
			return err
		}
		list = append(list, row)
	}
	fresh, err := b.h.cfg.DB.TakeInbound(ctx, b.provider, list, cursor)
	if err != nil {
		return err
	}
	b.countTaken(len(list), fresh)
	b.mu.Lock()
	b.status.LastIn = time.Now()
	b.mu.Unlock()
	for _, row := range fresh {
		if row.State == store.InboundNew {
			b.waiting.Add(1)
			b.wake(place{row.Chat, row.Topic}, "")
		}
	}
	return nil
}

// row returns the stored form of an update.
func (b *bot) row(ctx context.Context, u chat.Update) (store.Inbound, error) {
	row := store.Inbound{ID: u.ID, Chat: u.Chat, At: b.h.cfg.DB.Now(), State: store.InboundNew}
	if u.Problem != "" {
		row.State, row.Reason = store.InboundFailed, u.Problem
		return row, nil
	}
	topic, err := b.topic(ctx, u)
	if err != nil {
		return row, err
	}
	u.Topic, row.Topic = topic, topic
	if u.At.IsZero() {
		u.At = row.At
	}
	if len(u.Text) > maxText {
		u.Text = u.Text[:maxText+1] // enough to detect that it is too long
		for !utf8.ValidString(u.Text) {
			u.Text = u.Text[:len(u.Text)-1]
		}
	}
	if row.Body, err = agent.Encode(u); err != nil || len(row.Body) > maxBody+2*maxText {
		row.State, row.Reason, row.Body = store.InboundFailed, "it cannot be stored", nil
	}
	return row, nil
}

// topic returns the name of the topic an update belongs to.
func (b *bot) topic(ctx context.Context, u chat.Update) (string, error) {
	for _, other := range append(u.Under[:len(u.Under):len(u.Under)], u.Topic) {
		if other == "" || !u.Group {
			continue
		}
		c, err := b.h.cfg.DB.ChannelChat(ctx, b.provider, u.Chat, other)
		switch {
		case missing(err):
			continue
		case err != nil:
			return "", err
		case c.Kind == kindResult: // the reply's own topic
			continue
		case c.Alias != "":
			return c.Alias, nil
		}
		return c.Topic, nil
	}
	return u.Topic, nil
}

// makeRoom waits while too many messages are waiting.
func (b *bot) makeRoom(ctx context.Context) error {
	for b.waiting.Load() >= int64(b.h.current().MaxWaiting) {
		select {
		case <-b.room:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// taken records that messages no longer wait.
func (b *bot) taken(n int) {
	b.waiting.Add(int64(-n))
	select {
	case b.room <- struct{}{}:
	default:
	}
}

// Cursor implements chat.Inbox.
func (in *inbox) Cursor(key string) string {
	body, err := in.b.h.cfg.DB.KV(in.b.ctx, store.Global, store.ChannelSpace, in.b.provider+" "+key)
	if err != nil && !errors.Is(err, store.ErrNotFound) && in.b.ctx.Err() == nil {
		in.b.h.cfg.Log.Warn("couldn't read a channel's cursor", "channel", in.b.provider, "err", err)
	}
	return string(body)
}

// Status implements chat.Inbox.
func (in *inbox) Status(err error) {
	if err == nil {
		in.b.connected()
		return
	}
	in.b.failed(err)
}

// decode reads a stored update.
func decode(row store.Inbound) (u chat.Update, err error) {
	if err := json.Unmarshal(row.Body, &u); err != nil {
		return u, fmt.Errorf("message %s: %w", row.ID, err)
	}
	return u, nil
}
