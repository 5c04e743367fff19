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

// who identifies the account of a message's sender.
type who struct {
	owner      string
	connection string // "" for a person on the configured allow list
	open       bool   // admitted because the bot is open to everyone
	guest      bool   // admitted as a guest of a group
}

// limited reports whether their runs lack commands, servers, memory and helpers.
func (w who) limited() bool { return w.open || w.guest }

// who looks up the account of a message's sender; known is false for strangers.
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

// candidate is a message with the data used by the admission rules.
type candidate struct {
	row   store.Inbound
	u     chat.Update
	cmd   command // name "" for other messages
	who   who     // set once the sender is looked up, if known
	known bool

	working bool              // a turn of the line is active
	voice   bool              // a voice message that will be transcribed
	open    bool              // the group was admitted
	group   store.ChannelChat // its row
	host    *who              // the account that guests of the group are answered for, nil for none
	unasked bool              // account on whose behalf the group's guests are answered; nil for none
	often   func() bool       // counts the message; true when its sender sends too many
}

func (c *candidate) empty() bool { return c.u.Text == "" && len(c.u.Files) == 0 && !c.voice }

// rule decides about the messages it applies to: act carries out its decision. Without act they are dropped with a
// reason; reply, if any, is sent to the sender, at most once an hour.
type rule struct {
	applies func(c *candidate) bool
	reason  string
	reply   func(w words) string
	act     func(l *line, ctx context.Context, c *candidate) error
}

// early returns the rules that don't need the sender. The first match decides.
func early() []rule {
	return []rule{
		{applies: func(c *candidate) bool { return c.u.Stops && !c.working }, act: (*line).drop}, // there is nothing to stop
		{applies: func(c *candidate) bool {
			return c.cmd.name == "connect" || c.cmd.name == "start" && c.cmd.arg != ""
		}, act: func(l *line, ctx context.Context, c *candidate) error { return l.pair(ctx, c.row, c.u, c.cmd.arg) }},
	}
}

// late returns the rules for a known sender, those of groups first. The first matching rule decides; without a
// match the message is admitted.
func late() []rule {
	return []rule{
		{applies: func(c *candidate) bool { return c.u.Group && c.cmd.name == "allow" && c.known }, act: (*line).allow},
		{applies: func(c *candidate) bool { return c.u.Group && !c.open && c.known && c.u.Mentioned },
			reason: "group", reply: func(w words) string { return w.notAllowed }},
		{applies: func(c *candidate) bool { return c.u.Group && !c.open }, reason: "group"},
		{applies: func(c *candidate) bool { return c.u.Group && !c.u.Mentioned && !c.unasked }, reason: "not mentioned"},
		{applies: func(c *candidate) bool { return !c.known && c.host == nil && (c.u.Group || c.u.Stops) },
			reason: "stranger"},
		{applies: func(c *candidate) bool { return !c.known && c.host == nil }, reason: "stranger", reply: func(w words) string { return w.stranger }},
		{applies: func(c *candidate) bool { return len(c.u.Text) > maxText }, reason: "too long", reply: func(w words) string { return w.tooLong }},
		{applies: func(c *candidate) bool { return c.u.Stops },
			act: func(l *line, ctx context.Context, c *candidate) error { return l.reacted(ctx, c.admitted()) }},
		{applies: func(c *candidate) bool { return c.empty() && c.u.Unread != "" }, act: (*line).unreadable},
		{applies: (*candidate).empty, reason: "empty"},
		{applies: func(c *candidate) bool { return c.often() }, reason: "too many messages", reply: func(w words) string { return w.tooMany }},
		{applies: func(c *candidate) bool {
			return c.account().limited() && personal(c.cmd) ||
				c.account().guest && c.cmd.name == "models" && c.cmd.arg != ""
		}, reason: "command of a guest", reply: func(w words) string { return w.guest }},
		{applies: func(c *candidate) bool { return c.cmd.now }, act: (*line).command},
	}
}

// account returns the account that an admitted message belongs to.
func (c *candidate) account() who {
	if !c.known && c.host != nil {
		return *c.host
	}
	return c.who
}

func (c *candidate) admitted() *admitted {
	return &admitted{row: c.row, u: c.u, who: c.account(), cmd: c.cmd}
}

// first returns the first rule that applies, nil for none.
func first(rules []rule, c *candidate) *rule {
	for i := range rules {
		if rules[i].applies(c) {
			return &rules[i]
		}
	}
	return nil
}

// admit applies the rules: it admits a message, refuses it, or carries out its command at once.
func (l *line) admit(ctx context.Context, row store.Inbound) error {
	b := l.b
	u, err := decode(row)
	if err != nil {
		return l.settle(ctx, row, store.InboundFailed, err.Error())
	}
	c := &candidate{row: row, u: u, working: l.turn != nil, voice: b.listens(u), unasked: b.conf().Unasked,
		often: func() bool { return !b.people.Allow(time.Now(), u.Sender.ID) }}
	if cmd, ok := parseCommand(u.Text); ok {
		c.cmd = cmd
	} else if c.working && stopWord(u.Text) {
		c.cmd = command{name: "stop"}
	}
	if r := first(early(), c); r != nil {
		return l.decide(ctx, r, c)
	}
	if err := l.lookUp(ctx, c); err != nil {
		return err
	}
	if r := first(late(), c); r != nil {
		return l.decide(ctx, r, c)
	}
	a := c.admitted()
	if a.thread, err = l.repliesTo(ctx, a); err != nil {
		return err
	}
	l.let[row.N] = a
	return nil
}

// lookUp finds the sender's account and, in a group, whether the group was admitted and for which owner guests are
// answered.
func (l *line) lookUp(ctx context.Context, c *candidate) (err error) {
	b := l.b
	if c.who, c.known, err = b.who(ctx, c.u.Sender); err != nil {
		return err
	}
	if c.cmd.name != "" {
		c.cmd = b.known(c.cmd)
	}
	if !c.u.Group {
		return nil
	}
	c.group, err = b.h.cfg.DB.ChannelChat(ctx, b.provider, c.u.Chat, "")
	if err != nil && !missing(err) {
		return err
	}
	if c.open = err == nil && c.group.EnabledBy != ""; c.open {
		c.host = b.host(c.group)
	}
	return nil
}

// decide carries out a rule.
func (l *line) decide(ctx context.Context, r *rule, c *candidate) error {
	switch {
	case r.act != nil:
		return r.act(l, ctx, c)
	case r.reply != nil:
		return l.refuse(ctx, c.row, c.u, r.reason, r.reply(l.b.words(c.u.Sender)))
	}
	return l.settle(ctx, c.row, store.InboundRefused, r.reason)
}

// drop marks a message as handled without an answer.
func (l *line) drop(ctx context.Context, c *candidate) error {
	return l.settle(ctx, c.row, store.InboundDone, "")
}

// unreadable refuses a message of a kind that no adapter reads.
func (l *line) unreadable(ctx context.Context, c *candidate) error {
	return l.refuse(ctx, c.row, c.u, "unreadable "+string(c.u.Unread), l.b.words(c.u.Sender).unread(c.u.Unread))
}

// command carries out a command that doesn't wait for its turn.
func (l *line) command(ctx context.Context, c *candidate) (err error) {
	a := c.admitted()
	if a.thread, err = l.repliesTo(ctx, a); err != nil {
		return err
	}
	return l.obey(ctx, a)
}

// allow admits the bot to a group.
func (l *line) allow(ctx context.Context, c *candidate) (err error) {
	g, u := c.group, c.u
	g.Provider, g.Chat, g.Topic, g.Kind, g.Name, g.EnabledBy = l.b.provider, u.Chat, "", "group", u.ChatName, u.Sender.ID
	own := settingsOf(g)
	own.Host, own.Workspace = c.who.owner, u.Sender.Workspace
	if g.Settings, err = agent.Encode(own); err != nil {
		return err
	}
	if err := l.b.h.cfg.DB.PutChannelChat(ctx, g); err != nil {
		return err
	}
	if err := l.drop(ctx, c); err != nil {
		return err
	}
	l.b.say(ctx, u, l.b.words(u.Sender).allowed)
	return nil
}

// Members of a group with the right to write, besides people with an account.
const (
	MembersAll    = "all"
	MembersPaired = "paired"
)

// host returns the account that guests of a group are answered for; nil where guests aren't answered.
func (b *bot) host(g store.ChannelChat) *who {
	own := settingsOf(g)
	if g.EnabledBy == "" || own.Members != MembersAll && (own.Members != "" || !b.conf().Guests) {
		return nil
	}
	return &who{owner: cmp.Or(own.Host, g.Owner), guest: true}
}

// refuse drops a message and tells its sender the reason, at most once an hour.
func (l *line) refuse(ctx context.Context, row store.Inbound, u chat.Update, reason, text string) error {
	if err := l.settle(ctx, row, store.InboundRefused, reason); err != nil {
		return err
	}
	if l.b.people.Tell(time.Now(), u.Sender.ID, reason) {
		l.b.say(ctx, u, text)
	}
	return nil
}

// words selects texts in the sender's language, or the server's if the app doesn't report it.
func (b *bot) words(p chat.Person) words { return wordsOf(cmp.Or(p.Lang, b.h.current().Lang)) }

// say sends a short answer. It is tried once because the message is already handled.
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
		b.h.cfg.Log.Warn("couldn't send a reply", "channel", b.provider, "err", err)
		return
	}
	b.sent()
}

// clean returns a name that is safe to place before a person's words.
func clean(name string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if strings.ContainsRune("[]<>`*_\n\r\t", r) || r < ' ' {
			return ' '
		}
		return r
	}, name))
}
