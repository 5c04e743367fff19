package insight

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"fawn/web/ui/page"
)

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
