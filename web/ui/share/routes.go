package share

import (
	"fawn/web/ui/page"
)

// Routes returns the routes of share links and of their readers.
func (h *Handlers) Routes() []page.Route {
	return []page.Route{
		page.Get("/share/:token", page.Anyone, h.shared),
		page.Get("/share/:token/files/*", page.Anyone, h.sharedFile),
		page.Get("/share/:token/view/*", page.Anyone, h.sharedView),
		page.Get("/ui/threads/:id/share", page.User, h.OnThread(h.sharing)),
		page.Post("/ui/threads/:id/share", page.User, h.OnThread(h.share)),
		page.Post("/ui/threads/:id/share/remove", page.User, h.OnThread(h.unshare)),
	}
}
