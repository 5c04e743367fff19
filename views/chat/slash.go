package chat

import (
	"context"

	"fawn/views"
	"fawn/views/i18n"
)

// mentionText describes an agent's purpose.
func mentionText(ctx context.Context, a views.Partner) string {
	if a.Name == "fawn" {
		return i18n.C(ctx, "slash.lead")
	}
	return views.Safe(a.Text)
}

// promptText returns a saved prompt's description, or its beginning.
func promptText(p views.SavedPrompt) string {
	if p.About != "" {
		return views.Safe(p.About)
	}
	return views.Safe(p.Text)
}

// command is a word after a slash that does something.
type command struct {
	name  string
	more  bool // expects arguments
	fresh bool // useful in a new chat
}

var commands = [...]command{{name: "compact"}, {name: "goal", more: true, fresh: true}, {name: "new", more: true}}

// text returns the text that selecting it inserts into the message box.
func (c command) text() string {
	if c.more {
		return "/" + c.name + " "
	}
	return "/" + c.name
}
