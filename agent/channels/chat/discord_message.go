package chat

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
)

type discordUser struct {
	ID     string `json:"id"`
	Name   string `json:"username"`
	Global string `json:"global_name"`
	Bot    bool   `json:"bot"`
}

type discordMessage struct {
	ID          string        `json:"id"`
	Type        int           `json:"type"`
	Channel     string        `json:"channel_id"`
	Webhook     string        `json:"webhook_id"`
	Author      discordUser   `json:"author"`
	Content     string        `json:"content"`
	At          time.Time     `json:"timestamp"`
	Mentions    []discordUser `json:"mentions"`
	Attachments []struct {
		ID   string `json:"id"`
		Name string `json:"filename"`
		Type string `json:"content_type"`
		Size int64  `json:"size"`
		URL  string `json:"url"`
	} `json:"attachments"`
	Reference struct {
		Message string `json:"message_id"`
	} `json:"message_reference"`
	Referenced *struct {
		Author discordUser `json:"author"`
	} `json:"referenced_message"`
}

// update is what the message says, in place p.
func (m *discordMessage) update(me Me, p discordPlace, threads bool) Update {
	u := Update{
		ID: m.ID, Message: m.ID, At: m.At,
		Address: Address{Chat: m.Channel, Group: p.Type != 1},
		Sender:  Person{ID: m.Author.ID, Name: cmp.Or(m.Author.Global, m.Author.Name)},
		Text:    discordWords(m.Content, me.ID, m.Mentions),
	}
	u.Mentioned = slices.ContainsFunc(m.Mentions, func(u discordUser) bool { return u.ID == me.ID }) ||
		m.Referenced != nil && m.Referenced.Author.ID == me.ID
	if u.Group {
		u.ChatName = p.Name
	}
	switch {
	case p.Type >= 10 && p.Type <= 12 && isID(p.Parent):
		u.Chat, u.Topic = p.Parent, m.Channel
	case u.Group && threads && u.Mentioned:
		u.Topic = m.ID
	}
	if m.Reference.Message != "" {
		u.Under = []string{m.Reference.Message}
	}
	for _, a := range m.Attachments {
		u.Files = append(u.Files, FileRef{ID: m.Channel + ":" + m.ID + ":" + a.ID, Name: a.Name, Type: a.Type,
			Size: a.Size})
	}
	return u
}

// message is the update of a message's JSON. Only a failed call is an error: what cannot be read is an update, too.
func (l *discordLink) message(ctx context.Context, data []byte) (u Update, channel string, ok bool, err error) {
	var m discordMessage
	if err := json.Unmarshal(data, &m); err != nil {
		var id struct {
			ID string `json:"id"`
		}
		_ = json.Unmarshal(data, &id)
		return Update{ID: "message:" + id.ID, Problem: "not understood: " + l.c.redact(err.Error())}, "", true, nil
	}
	if m.Author.Bot || m.Webhook != "" || m.Author.ID == l.me.ID || m.Type != 0 && m.Type != 19 || !isID(m.Channel) {
		return Update{}, "", false, nil
	}
	p, err := l.place(ctx, m.Channel)
	if _, gone := errors.AsType[*Gone](err); gone {
		return Update{}, "", false, nil
	}
	if err != nil {
		return Update{}, "", false, err
	}
	u = m.update(l.me, p, l.cfg.Threads)
	return u, m.Channel, u.Text != "" || len(u.Files) > 0 || u.Mentioned, nil
}

// discordWords is a text as people see it, without the bot's name at its start.
func discordWords(text, bot string, others []discordUser) string {
	text = strings.TrimSpace(text)
	for _, name := range []string{"<@" + bot + ">", "<@!" + bot + ">"} {
		text = strings.TrimPrefix(text, name)
	}
	for _, u := range others[:min(len(others), 100)] {
		for _, name := range []string{"<@" + u.ID + ">", "<@!" + u.ID + ">"} {
			text = strings.ReplaceAll(text, name, "@"+cmp.Or(u.Global, u.Name))
		}
	}
	return strings.TrimSpace(text)
}
