package chats

import (
	"fawn/web/ui/page"
)

// Routes returns the routes of the lists, and of actions on several chats.
func (h *Handlers) Routes() []page.Route {
	return []page.Route{
		page.Get("/workspace/chats", page.User, h.chats),
		page.Get("/ui/palette", page.User, h.palette),
		page.Get("/ui/threads", page.User, h.threadList),
		page.Post("/ui/threads/delete", page.User, h.removeMany),
		page.Post("/ui/threads/restore", page.User, h.undo),
	}
}
