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
	ID          string              `json:"id"`
	Type        int                 `json:"type"`
	Channel     string              `json:"channel_id"`
	Webhook     string              `json:"webhook_id"`
	Author      discordUser         `json:"author"`
	Content     string              `json:"content"`
	At          time.Time           `json:"timestamp"`
	Mentions    []discordUser       `json:"mentions"`
	Attachments []discordAttachment `json:"attachments"`
	Flags       int                 `json:"flags"`
	Stickers    []json.RawMessage   `json:"sticker_items"`
	Reference   struct {
		Type    int    `json:"type"`
		Message string `json:"message_id"`
	} `json:"message_reference"`
	Referenced *struct {
		Author  discordUser `json:"author"`
		Content string      `json:"content"`
	} `json:"referenced_message"`
	Snapshots []struct { // of a forwarded message
		Message struct {
			Content     string              `json:"content"`
			Attachments []discordAttachment `json:"attachments"`
		} `json:"message"`
	} `json:"message_snapshots"`
	Poll *struct {
		Question discordPollText `json:"question"`
		Answers  []struct {
			Media discordPollText `json:"poll_media"`
		} `json:"answers"`
	} `json:"poll"`
}

type discordAttachment struct {
	ID   string `json:"id"`
	Name string `json:"filename"`
	Type string `json:"content_type"`
	Size int64  `json:"size"`
	URL  string `json:"url"`
}

type discordPollText struct {
	Text string `json:"text"`
}

const (
	discordForward = 1       // type of a reference
	discordVoice   = 1 << 13 // flag of a voice message
)

// files returns the attachments, including those of a forwarded message.
func (m *discordMessage) files() []discordAttachment {
	all := m.Attachments
	for _, s := range m.Snapshots {
		all = append(all[:len(all):len(all)], s.Message.Attachments...)
	}
	return all
}

// words returns the text of a message, of forwarded messages in it and of its poll.
func (m *discordMessage) words(bot string) string {
	parts := []string{discordWords(m.Content, bot, m.Mentions)}
	for _, s := range m.Snapshots {
		parts = append(parts, discordWords(s.Message.Content, bot, nil))
	}
	if m.Poll != nil {
		lines := []string{m.Poll.Question.Text}
		for _, a := range m.Poll.Answers {
			lines = append(lines, "- "+a.Media.Text)
		}
		parts = append(parts, strings.Join(lines, "\n"))
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	return strings.Join(parts, "\n\n")
}

// discordReaction is a reaction to a message.
type discordReaction struct {
	User    string `json:"user_id"`
	Channel string `json:"channel_id"`
	Message string `json:"message_id"`
	Author  string `json:"message_author_id"`
	Emoji   struct {
		Name string `json:"name"`
	} `json:"emoji"`
}

// reaction returns the update of a reaction to a message of the bot that asks to stop.
func (l *discordLink) reaction(ctx context.Context, data []byte) (u Update, ok bool, err error) {
	var r discordReaction
	if json.Unmarshal(data, &r) != nil || !stopSign(r.Emoji.Name) || r.User == l.me.ID || r.User == "" ||
		r.Author != "" && r.Author != l.me.ID || !isID(r.Channel) {
		return u, false, nil
	}
	p, err := l.place(ctx, r.Channel)
	if _, gone := errors.AsType[*Gone](err); gone {
		return u, false, nil
	}
	if err != nil {
		return u, false, err
	}
	u = Update{ID: "reaction:" + r.Message + ":" + r.User, Message: r.Message, Under: []string{r.Message}, Stops: true,
		At: time.Now(), Address: Address{Chat: r.Channel, Group: p.Type != 1}, Sender: Person{ID: r.User}}
	if u.Group {
		u.ChatName, u.Mentioned = p.Name, true
	}
	if p.Type >= 10 && p.Type <= 12 && isID(p.Parent) {
		u.Chat, u.Topic = p.Parent, r.Channel
	}
	return u, true, nil
}

// update converts a message written in place p.
func (m *discordMessage) update(me Me, p discordPlace, threads bool) Update {
	u := Update{
		ID: m.ID, Message: m.ID, At: m.At,
		Address: Address{Chat: m.Channel, Group: p.Type != 1},
		Sender:  Person{ID: m.Author.ID, Name: cmp.Or(m.Author.Global, m.Author.Name)},
		Text:    m.words(me.ID),
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
	switch {
	case m.Reference.Message == "":
	case m.Reference.Type == discordForward:
		u.Forwarded = unnamed
	default:
		u.Under = []string{m.Reference.Message}
		if m.Referenced != nil && m.Referenced.Author.ID != me.ID {
			u.Quote = discordWords(m.Referenced.Content, me.ID, m.Mentions)
		}
	}
	spoken := m.Flags&discordVoice != 0 && u.Text == ""
	for _, a := range m.files() {
		f := FileRef{ID: m.Channel + ":" + m.ID + ":" + a.ID, Name: a.Name, Type: a.Type, Size: a.Size}
		if spoken {
			u.Voice = &f
			continue
		}
		u.Files = append(u.Files, f)
	}
	switch {
	case u.Text != "" || len(u.Files) > 0:
	case spoken:
		u.Unread = Voice
	case len(m.Stickers) > 0:
		u.Unread = Sticker
	}
	return u
}

// message returns the update of a message's JSON. Only a failed call is an error: an unreadable message also becomes an
// update.
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
	return u, m.Channel, !u.empty(), nil
}

// discordWords returns a text as people see it, without the bot's name at its start.
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
