package channels

import (
	"context"
	"slices"
	"strings"
	"time"

	"fawn/agent/channels/chat"
	"fawn/store"
)

// who is the account that a message counts for.
type who struct {
	owner      string
	connection string // "" for somebody on the list of the configuration
	open       bool   // let in because everybody is
}

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
	cmd, isCommand := parseCommand(u.Text)
	if isCommand && (cmd.name == "connect" || cmd.name == "start" && cmd.arg != "") {
		return l.pair(ctx, row, u, cmd.arg)
	}
	w, known, err := b.who(ctx, u.Sender)
	if err != nil {
		return err
	}
	if u.Group {
		if done, err := l.group(ctx, row, u, cmd, known); done || err != nil {
			return err
		}
	}
	switch {
	case !known:
		return l.refuse(ctx, row, u, "stranger", sayStranger)
	case len(u.Text) > maxText:
		return l.refuse(ctx, row, u, "too long", sayTooLong)
	case u.Text == "" && len(u.Files) == 0:
		return l.settle(ctx, row, store.InboundRefused, "empty")
	case !b.people.allow(time.Now(), u.Sender.ID):
		return l.refuse(ctx, row, u, "too many messages", sayTooMany)
	}
	a := &admitted{row: row, u: u, who: w}
	if isCommand {
		if cmd = b.known(cmd); cmd.now {
			return l.obey(ctx, &admitted{row: row, u: u, who: w, cmd: cmd})
		}
		a.cmd = cmd
	}
	l.let[row.N] = a
	return nil
}

// group judges what was written where several people read. done says that the message is dealt with.
func (l *line) group(ctx context.Context, row store.Inbound, u chat.Update, cmd command, known bool) (bool, error) {
	b := l.b
	g, err := b.h.cfg.DB.ChannelChat(ctx, b.provider, u.Chat, "")
	if err != nil && !missing(err) {
		return true, err
	}
	open := err == nil && g.EnabledBy != ""
	switch {
	case cmd.name == "allow" && known:
		g.Provider, g.Chat, g.Topic, g.Kind, g.Name, g.EnabledBy = b.provider, u.Chat, "", "group", u.ChatName, u.Sender.ID
		if err := b.h.cfg.DB.PutChannelChat(ctx, g); err != nil {
			return true, err
		}
		if err := l.settle(ctx, row, store.InboundDone, ""); err != nil {
			return true, err
		}
		b.say(ctx, u, sayAllowed)
		return true, nil
	case !open && known && u.Mentioned:
		return true, l.refuse(ctx, row, u, "group", sayNotAllowed)
	case !open:
		return true, l.settle(ctx, row, store.InboundRefused, "group")
	case !u.Mentioned && !b.conf().Unasked:
		return true, l.settle(ctx, row, store.InboundRefused, "not mentioned")
	case !known:
		return true, l.settle(ctx, row, store.InboundRefused, "stranger")
	}
	return false, nil
}

// refuse drops a message and tells its writer why, once an hour.
func (l *line) refuse(ctx context.Context, row store.Inbound, u chat.Update, reason, text string) error {
	if err := l.settle(ctx, row, store.InboundRefused, reason); err != nil {
		return err
	}
	if l.b.people.tell(time.Now(), u.Sender.ID, reason) {
		l.b.say(ctx, u, text)
	}
	return nil
}

// say answers a message with a few words. It is tried once: the message is done with already.
func (b *bot) say(ctx context.Context, to chat.Update, text string) {
	limits := b.channel().Limits()
	post := chat.Post{Text: chat.Split(text, limits)[0].Text, Key: key(b.provider, to.ID)}
	if to.Group {
		post.ReplyTo = to.Message
	}
	err := b.pace.wait(ctx, to.Address)
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
