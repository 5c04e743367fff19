// Package chats serves the lists of chats: all of them, search results, the palette, and the trash.
package chats

import (
	"context"
	"time"

	"fawn/views"
	"fawn/web/bots"
	"fawn/web/ui/page"
)

// Handlers serve the lists. Create them with New.
type Handlers struct {
	*page.Site
	Bots         *bots.Service // bots of chat apps; nil means none
	RunsCommands func() bool   // reports whether there is a sandbox to restart
	Keep         time.Duration // how long deleted chats can be restored
	// Prompts lists the reader's prompts; nil means none.
	Prompts func(context.Context) ([]views.SavedPrompt, error)

	trash *trash
}

// New returns the handlers.
func New(site *page.Site, bots *bots.Service, runsCommands func() bool) *Handlers {
	return &Handlers{Site: site, Bots: bots, RunsCommands: runsCommands, Keep: trashTime, trash: newTrash()}
}
