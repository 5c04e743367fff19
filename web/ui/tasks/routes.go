package tasks

import (
	"fawn/web/ui/page"
)

// Routes returns the page of scheduled tasks and its actions.
func (h *Handlers) Routes() []page.Route {
	return []page.Route{
		page.Get("/workspace/scheduled-tasks", page.User, h.tasks),
		page.Post("/ui/tasks", page.User, h.addTask),
		page.Post("/ui/tasks/:id/:action", page.User, h.changeTask),
	}
}
