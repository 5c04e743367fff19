package channels

import (
	"strings"
	"testing"

	"fawn/agent/channels/chat"
)

// TestRulesOfAdmission: the first rule that applies decides, and a message that none applies to is admitted.
func TestRulesOfAdmission(t *testing.T) {
	guest := &who{owner: "ann", guest: true}
	text := func(text string, more ...func(*candidate)) *candidate {
		c := &candidate{u: chat.Update{Text: text}, known: true, often: func() bool { return false }}
		for _, f := range more {
			f(c)
		}
		return c
	}
	stranger := func(c *candidate) { c.known = false }
	group := func(c *candidate) { c.u.Group = true }
	open := func(c *candidate) { c.u.Group, c.open = true, true }
	named := func(c *candidate) { c.u.Mentioned = true }
	hosted := func(c *candidate) { c.host = guest }
	stops := func(c *candidate) { c.u.Stops = true }
	command := func(name, arg string) func(*candidate) {
		return func(c *candidate) { c.cmd = command{name: name, arg: arg, now: name != "new"} }
	}
	const acts, admitted = "acts", ""
	for _, c := range []struct {
		name string
		c    *candidate
		want string // reason of the refusal
		told bool
	}{
		{"a message", text("hi"), admitted, false},
		{"of a stranger", text("hi", stranger), "stranger", true},
		{"a sign of a stranger while a run works", text("", stranger, stops, func(c *candidate) { c.working = true }), "stranger", false},
		{"a sign without a run", text("", stops), acts, false},
		{"a code", text("", stranger, command("connect", "X")), acts, false},
		{"start without a code", text("", stranger, command("start", "")), "stranger", true},
		{"too long", text(strings.Repeat("x", maxText+1)), "too long", true},
		{"empty", text(""), "empty", false},
		{"unreadable", text("", func(c *candidate) { c.u.Unread = "sticker" }), acts, false},
		{"too often", text("hi", func(c *candidate) { c.often = func() bool { return true } }), "too many messages", true},
		{"a command", text("/help", command("help", "")), acts, false},
		{"a command in line", text("/new", command("new", "")), admitted, false},
		{"in a group that wasn't let in", text("hi", group, named), "group", true},
		{"there without a mention", text("hi", group), "group", false},
		{"there by a stranger", text("hi", group, named, stranger), "group", false},
		{"allow", text("/allow", group, command("allow", "")), acts, false},
		{"allow by a stranger", text("/allow", group, named, stranger, command("allow", "")), "group", false},
		{"in a group", text("hi", open, named), admitted, false},
		{"without a mention", text("hi", open), "not mentioned", false},
		{"without a mention where all is read", text("hi", open, func(c *candidate) { c.unasked = true }), admitted, false},
		{"a stranger in a group", text("hi", open, named, stranger), "stranger", false},
		{"a guest", text("hi", open, named, stranger, hosted), admitted, false},
		{"a guest's personal command", text("/memory", open, named, stranger, hosted, command("memory", "")), "command of a guest", true},
		{"a guest chooses a model", text("/models x", open, named, stranger, hosted, command("models", "x")), "command of a guest", true},
		{"a guest lists models", text("/models", open, named, stranger, hosted, command("models", "")), acts, false},
	} {
		r := first(early(), c.c)
		if r == nil {
			r = first(late(), c.c)
		}
		switch {
		case r == nil && c.want != admitted, r != nil && r.act != nil && c.want != acts,
			r != nil && r.act == nil && (r.reason != c.want || c.told != (r.reply != nil)):
			t.Errorf("%s: %+v", c.name, r)
		}
	}
	if a := text("hi", open, named, stranger, hosted).admitted(); a.who != *guest {
		t.Errorf("a guest counts for %+v", a.who)
	}
}
