// Package projects serves the pages of projects. Their rules are package agent/projects.
package projects

import (
	"fawn/agent/profile"
	"fawn/agent/projects"
	"fawn/agent/skills"
	"fawn/memory"
	"fawn/uploads"
	"fawn/web/ui/page"
)

// Handlers serve the pages.
type Handlers struct {
	*page.Site
	Projects *projects.Service
	Agents   *profile.Library // nil means none
	Skills   *skills.Library  // nil means none
	Memory   *memory.Service  // nil learns nothing
	Uploads  func() uploads.Config
}

// Routes returns the pages of projects, and their actions.
func (h *Handlers) Routes() []page.Route {
	return []page.Route{
		page.Get("/workspace/projects", page.User, h.list),
		page.Get("/workspace/projects/:project", page.User, h.project),
		page.Post("/ui/projects", page.User, h.create),
		page.Post("/ui/projects/:project/:action", page.User, h.change),
		page.Get("/ui/threads/:id/project", page.User, h.OnThread(h.move)),
		page.Post("/ui/threads/:id/project", page.User, h.OnThread(h.moved)),
	}
}
