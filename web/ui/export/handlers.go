// Package export writes chats as files: Markdown, JSON, archives of a chat's files, and of all data of a person.
package export

import (
	"fawn/agent/profile"
	"fawn/memory"
	"fawn/web/ui/conversation"
)

// Handlers serve the exports. Create them with New.
type Handlers struct {
	*conversation.Handlers
	Memory *memory.Service  // nil means none
	Agents *profile.Library // nil means none
	Print  Printer          // nil leaves PDFs to the reader's browser

	zips chan struct{} // holds one for each archive that is being made
	pdfs chan struct{} // holds one for each PDF
}

// New returns the handlers.
func New(c *conversation.Handlers, m *memory.Service, a *profile.Library) *Handlers {
	return &Handlers{Handlers: c, Memory: m, Agents: a, zips: make(chan struct{}, maxZips),
		pdfs: make(chan struct{}, maxPDFs)}
}
