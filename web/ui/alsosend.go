package ui

import (
	"bytes"
	"context"
	"encoding/json"
	"net/url"

	"fawn/agent/channels"
	"fawn/store"
)

// origin is the chat of a chat app that a thread was begun in, if its owner may have answers sent there.
func (u *UI) origin(ctx context.Context, t *store.Thread) (o channels.Offer, ok bool, err error) {
	if t == nil || !u.Bots.Available() || !bytes.Contains(t.Metadata, []byte(`"channel_source"`)) {
		return o, false, nil
	}
	var meta struct {
		Source struct {
			Provider string `json:"provider"`
			Chat     string `json:"chat_id"`
			Topic    string `json:"topic_id"`
		} `json:"channel_source"`
	}
	if json.Unmarshal(t.Metadata, &meta) != nil {
		return o, false, nil
	}
	s := meta.Source
	return u.Bots.Hub.Find(ctx, t.Owner, channels.Destination{Provider: s.Provider, Chat: s.Chat, Topic: s.Topic})
}

// alsoSent is the message that brings the answer to the chat app as well, where the form says so.
func (u *UI) alsoSent(ctx context.Context, t *store.Thread, form url.Values) ([]store.Outbound, error) {
	if form.Get("also") == "" {
		return nil, nil
	}
	to, ok, err := u.origin(ctx, t)
	if err != nil || !ok {
		return nil, err
	}
	out, err := u.Bots.Hub.Plan(ctx, to.Destination, channels.Result{Owner: t.Owner, Thread: t.ID})
	return []store.Outbound{out}, err
}
