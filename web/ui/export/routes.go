package export

import (
	"fawn/web/ui/page"
)

// Routes returns the routes for exporting chats.
func (h *Handlers) Routes() []page.Route {
	return []page.Route{
		page.Get("/ui/threads/:id/export.md", page.User, h.OnThread(h.exportMarkdown)),
		page.Get("/ui/threads/:id/export.pdf", page.User, h.OnThread(h.exportPDF)),
		page.Get("/ui/threads/:id/print", page.User, h.OnThread(h.printPage)),
		page.Get("/ui/threads/:id/export.json", page.User, h.OnThread(h.exportJSON)),
		page.Get("/ui/threads/:id/files.zip", page.User, h.OnThread(h.filesZip)),
	}
}
