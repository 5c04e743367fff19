// Package prompts serves the pages of saved prompts.
package prompts

import (
	"fawn/agent/prompts"
	"fawn/web/ui/page"
)

// Handlers serve the pages of prompts.
type Handlers struct {
	*page.Site
	Prompts *prompts.Service
}

// Routes returns the pages of prompts, and their actions.
func (h *Handlers) Routes() []page.Route {
	return []page.Route{
		page.Get("/workspace/prompts", page.User, h.list),
		page.Get("/workspace/prompts/new", page.User, h.blank),
		page.Get("/workspace/prompts/:prompt", page.User, h.prompt),
		page.Get("/ui/prompts/export", page.User, h.export),
		page.Post("/ui/prompts", page.User, h.create),
		page.Post("/ui/prompts/import", page.User, h.bring),
		page.Post("/ui/prompts/:prompt/save", page.User, h.save),
		page.Post("/ui/prompts/:prompt/duplicate", page.User, h.duplicate),
		page.Post("/ui/prompts/:prompt/delete", page.User, h.remove),
	}
}
