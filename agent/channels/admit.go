package channels

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"fawn/agent"
	"fawn/agent/channels/chat"
	"fawn/store"
)

// who is the account that a message counts for.
type who struct {
	owner      string
	connection string // "" for somebody on the list of the configuration
	open       bool   // let in because everybody is
	guest      bool   // let in because the group is
}

// limited tells that runs for them have no commands, servers, memory or helpers.
func (w who) limited() bool { return w.open || w.guest }

// who finds out for whom a message is; known is false for strangers.
func (b *bot) who(ctx context.Context, p chat.Person) (w who, known bool, err error) {
	c, err := b.h.cfg.DB.ConnectionOf(ctx, b.provider, p.ID, p.Workspace)
	if err == nil {
		return who{owner: c.Owner, connection: c.ID}, true, nil
	}
	if !missing(err) {
		return w, false, err
	}
	if b.h.current().RequireBound {
		return w, false, nil
	}
	switch allowed := b.conf().Allowed; {
	case slices.Contains(allowed, p.ID):
		return who{owner: store.DefaultOwner}, true, nil
	case slices.Contains(allowed, "*"):
		return who{owner: store.DefaultOwner, open: true}, true, nil
	}
	return w, false, nil
}

// admit lets a message in, refuses it, or does at once what it asks for.
func (l *line) admit(ctx context.Context, row store.Inbound) error {
	b := l.b
	u, err := decode(row)
	if err != nil {
		return l.settle(ctx, row, store.InboundFailed, err.Error())
	}
	if u.Stops && l.turn == nil {
		return l.settle(ctx, row, store.InboundDone, "") // there is nothing to stop
	}
	cmd, isCommand := parseCommand(u.Text)
	if !isCommand && l.turn != nil && stopWord(u.Text) {
		cmd, isCommand = command{name: "stop"}, true
	}
	if isCommand && (cmd.name == "connect" || cmd.name == "start" && cmd.arg != "") {
		return l.pair(ctx, row, u, cmd.arg)
	}
	w, known, err := b.who(ctx, u.Sender)
	if err != nil {
		return err
	}
	if u.Group {
		host, done, err := l.group(ctx, row, u, cmd, w, known)
		if done || err != nil {
			return err
		}
		if !known && host != nil {
			w, known = *host, true
		}
	}
	switch {
	case !known && u.Stops:
		return l.settle(ctx, row, store.InboundRefused, "stranger")
	case !known:
		return l.refuse(ctx, row, u, "stranger", b.words(u.Sender).stranger)
	case len(u.Text) > maxText:
		return l.refuse(ctx, row, u, "too long", b.words(u.Sender).tooLong)
	case u.Stops:
		return l.reacted(ctx, &admitted{row: row, u: u, who: w})
	case u.Text == "" && len(u.Files) == 0 && u.Unread != "":
		return l.refuse(ctx, row, u, "unreadable "+string(u.Unread), b.words(u.Sender).unread(u.Unread))
	case u.Text == "" && len(u.Files) == 0:
		return l.settle(ctx, row, store.InboundRefused, "empty")
	case !b.people.Allow(time.Now(), u.Sender.ID):
		return l.refuse(ctx, row, u, "too many messages", b.words(u.Sender).tooMany)
	}
	a := &admitted{row: row, u: u, who: w}
	if a.thread, err = l.repliesTo(ctx, a); err != nil {
		return err
	}
	if isCommand {
		if cmd = b.known(cmd); w.limited() && personal(cmd) || w.guest && cmd.name == "models" && cmd.arg != "" {
			return l.refuse(ctx, row, u, "command of a guest", b.words(u.Sender).guest)
		}
		if cmd.now {
			a.cmd = cmd
			return l.obey(ctx, a)
		}
		a.cmd = cmd
	}
	l.let[row.N] = a
	return nil
}

// group judges what was written where several people read. done says that the message is dealt with. Guests of a group
// that lets them in are answered for its host.
func (l *line) group(ctx context.Context, row store.Inbound, u chat.Update, cmd command, w who, known bool) (
	host *who, done bool, err error) {
	b := l.b
	g, err := b.h.cfg.DB.ChannelChat(ctx, b.provider, u.Chat, "")
	if err != nil && !missing(err) {
		return nil, true, err
	}
	open := err == nil && g.EnabledBy != ""
	switch {
	case cmd.name == "allow" && known:
		g.Provider, g.Chat, g.Topic, g.Kind, g.Name, g.EnabledBy = b.provider, u.Chat, "", "group", u.ChatName,
			u.Sender.ID
		own := settingsOf(g)
		own.Host, own.Workspace = w.owner, u.Sender.Workspace
		if g.Settings, err = agent.Encode(own); err != nil {
			return nil, true, err
		}
		if err := b.h.cfg.DB.PutChannelChat(ctx, g); err != nil {
			return nil, true, err
		}
		if err := l.settle(ctx, row, store.InboundDone, ""); err != nil {
			return nil, true, err
		}
		b.say(ctx, u, b.words(u.Sender).allowed)
		return nil, true, nil
	case !open && known && u.Mentioned:
		return nil, true, l.refuse(ctx, row, u, "group", b.words(u.Sender).notAllowed)
	case !open:
		return nil, true, l.settle(ctx, row, store.InboundRefused, "group")
	case !u.Mentioned && !b.conf().Unasked:
		return nil, true, l.settle(ctx, row, store.InboundRefused, "not mentioned")
	}
	if host = b.host(g); host == nil && !known {
		return nil, true, l.settle(ctx, row, store.InboundRefused, "stranger")
	}
	return host, false, nil
}

// Who may write in a group, besides people with an account.
const (
	MembersAll    = "all"
	MembersPaired = "paired"
)

// host is for whom people without an account are answered in a group; nil where they are not.
func (b *bot) host(g store.ChannelChat) *who {
	own := settingsOf(g)
	if g.EnabledBy == "" || own.Members != MembersAll && (own.Members != "" || !b.conf().Guests) {
		return nil
	}
	return &who{owner: cmp.Or(own.Host, g.Owner), guest: true}
}

// refuse drops a message and tells its writer why, once an hour.
func (l *line) refuse(ctx context.Context, row store.Inbound, u chat.Update, reason, text string) error {
	if err := l.settle(ctx, row, store.InboundRefused, reason); err != nil {
		return err
	}
	if l.b.people.Tell(time.Now(), u.Sender.ID, reason) {
		l.b.say(ctx, u, text)
	}
	return nil
}

// words are those for somebody: in their language where the app tells it, else in that of the server.
func (b *bot) words(p chat.Person) words { return wordsOf(cmp.Or(p.Lang, b.h.current().Lang)) }

// say answers a message with a few words. It is tried once: the message is done with already.
func (b *bot) say(ctx context.Context, to chat.Update, text string) {
	limits := b.channel().Limits()
	post := chat.Post{Text: chat.Split(text, limits)[0].Text, Key: key(b.provider, to.ID)}
	if to.Group {
		post.ReplyTo = to.Message
	}
	err := b.pace.Wait(ctx, to.Address)
	if err == nil {
		_, err = b.channel().Send(b.calls, to.Address, post)
	}
	if err != nil && ctx.Err() == nil {
		b.h.cfg.Log.Warn("a short answer was not sent", "channel", b.provider, "err", err)
		return
	}
	b.sent()
}

// clean is a name as it may stand before somebody's words.
func clean(name string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if strings.ContainsRune("[]<>`*_\n\r\t", r) || r < ' ' {
			return ' '
		}
		return r
	}, name))
}
