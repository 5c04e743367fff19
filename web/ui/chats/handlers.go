// Package chats answers on the lists of chats: all of them, those that words are found in, the
// palette, and the trash that deleted ones can be had back from.
package chats

import (
	"time"

	"fawn/web/ui/page"
)

// Handlers are those of the lists. Make them with New.
type Handlers struct {
	*page.Site
	RunsCommands func() bool   // whether there is a sandbox to start anew
	Keep         time.Duration // how long deleted chats can be had back

	trash *trash
}

// New makes the handlers.
func New(site *page.Site, runsCommands func() bool) *Handlers {
	return &Handlers{Site: site, RunsCommands: runsCommands, Keep: trashTime, trash: newTrash()}
}
