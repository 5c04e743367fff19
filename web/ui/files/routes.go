package files

import (
	"fawn/web/ui/page"
)

// Routes returns the routes of a chat's files: viewing, saving, uploading, and changes by runs.
func (h *Handlers) Routes() []page.Route {
	return []page.Route{
		page.Get("/workspace/chats/:id/files", page.User, h.OnThread(h.filePage)),
		page.Get("/workspace/chats/:id/files/*", page.User, h.OnThread(h.filePage)),
		page.Get("/workspace/chats/:id/changes/:run", page.User, h.OnThread(h.changesPage)),
		page.Get("/ui/threads/:id/uploads", page.User, h.OnThreadID(h.documents)),
		page.Post("/ui/threads/:id/uploads", page.User, h.OnThreadID(h.upload)),
		page.Post("/ui/threads/:id/uploads/:name/delete", page.User, h.OnThreadID(h.removeUpload)),
		page.Post("/ui/threads/:id/uploads/:name/encoding", page.User, h.OnThreadID(h.readAs)),
		page.Get("/ui/threads/:id/panel", page.User, h.OnThread(h.panel)),
		page.Get("/ui/threads/:id/panel/*", page.User, h.OnThread(h.panel)),
		page.Post("/ui/threads/:id/save/*", page.User, h.OnThread(h.saveFile)),
		page.Get("/ui/threads/:id/version/*", page.User, h.OnThread(h.former)),
		page.Post("/ui/threads/:id/restore/*", page.User, h.OnThread(h.restore)),
		page.Get("/ui/threads/:id/changes/:run", page.User, h.OnThread(h.changes)),
		page.Get("/ui/threads/:id/view/*", page.User, h.OnThreadID(h.view)),
	}
}
