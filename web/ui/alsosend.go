package ui

import (
	"bytes"
	"context"
	"encoding/json"
	"net/url"

	"fawn/agent/channels"
	"fawn/store"
	"fawn/views"
	"fawn/web/ui/page"
)

// origin returns the chat of a chat app that a thread was begun in, if its owner may have answers sent there.
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

// otherChats lists the chats that the answer can be sent to in a thread that began on the page.
func (u *UI) otherChats(ctx context.Context, owner string) (out []views.TaskChat, err error) {
	if !u.Bots.Available() {
		return nil, nil
	}
	list, err := u.Bots.Hub.Offers(ctx, owner)
	for _, o := range list {
		out = append(out, views.TaskChat{Value: o.Destination.String(), App: o.App, Group: o.Group,
			Name: page.Head(o.Name, page.MaxTitle)})
	}
	return out, err
}

// alsoSent plans the message that also sends a thread's answer to a chat app, if the form requests it. t is nil for a
// thread to be created.
func (u *UI) alsoSent(ctx context.Context, t *store.Thread, thread, owner string, form url.Values) ([]store.Outbound,
	error) {
	also := form.Get("also")
	if also == "" || !u.Bots.Available() {
		return nil, nil
	}
	var to channels.Offer
	var ok bool
	var err error
	if d, chosen := channels.ParseDestination(also); chosen {
		to, ok, err = u.Bots.Hub.Find(ctx, owner, d)
	} else {
		to, ok, err = u.origin(ctx, t)
	}
	if err != nil || !ok {
		return nil, err
	}
	out, err := u.Bots.Hub.Plan(ctx, to.Destination, channels.Result{Owner: owner, Thread: thread})
	return []store.Outbound{out}, err
}
