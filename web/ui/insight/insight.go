// Package insight serves the pages about runs, calls and usage, and the page of the API.
package insight

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"fawn/agent/tracestore"
	"fawn/web/openapi"
	"fawn/web/ui/page"
)

// Handlers serve the pages.
type Handlers struct {
	*page.Site
	Inspect *tracestore.Service // records of runs' calls; nil keeps none
	Spec    func() openapi.Spec // content of the API page; nil disables the page
	Version string
}

// Routes returns the pages about runs, usage and the API.
func (h *Handlers) Routes() []page.Route {
	table := []page.Route{
		page.Get("/workspace/chats/:id/runs/:run", page.User, h.OnThread(h.inspectPage)),
		page.Get("/workspace/usage", page.User, h.usageHome),
	}
	if h.Spec != nil {
		table = append(table, page.Get("/docs", page.User, h.reference),
			page.Get("/redoc", page.User, func(c echo.Context) error { return c.Redirect(http.StatusFound, "/docs") }))
	}
	return table
}
