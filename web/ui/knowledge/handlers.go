// Package knowledge serves the pages of collections of documents.
package knowledge

import (
	"fawn/agent/knowledge"
	"fawn/uploads"
	"fawn/web/ui/page"
)

// Handlers serve the pages of collections.
type Handlers struct {
	*page.Site
	Knowledge *knowledge.Service
	Uploads   func() uploads.Config
}

// Routes returns the routes of the pages of collections and of their actions.
func (h *Handlers) Routes() []page.Route {
	return []page.Route{
		page.Get("/workspace/knowledge", page.User, h.list),
		page.Get("/workspace/knowledge/:knowledge", page.User, h.collection),
		page.Get("/workspace/knowledge/:knowledge/documents/:document", page.User, h.document),
		page.Get("/ui/knowledge/:knowledge/documents/:document/text", page.User, h.text),
		page.Post("/ui/knowledge", page.User, h.create),
		page.Post("/ui/knowledge/:knowledge/:action", page.User, h.change),
	}
}
