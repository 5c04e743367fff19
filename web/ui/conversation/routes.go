package conversation

import (
	"fawn/web/ui/page"
)

// Routes returns the live stream of a conversation and older parts of it.
func (h *Handlers) Routes() []page.Route {
	return []page.Route{
		page.Get("/ui/threads/:id/turns", page.User, h.OnThread(h.earlier)),
		page.Get("/ui/threads/:id/stream", page.User, h.OnThread(h.stream)),
	}
}
