package ui

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"fawn/views"
	"fawn/views/files"
	"fawn/web/httpx"
	"fawn/web/ui/page"
)

// diagramPolicy confines the frame of a diagram to a sandbox without an origin. It may only run this
// server's drawing program, with its own styles.
const diagramPolicy = "sandbox allow-scripts; default-src 'none'; script-src 'self'; " +
	"style-src 'self' 'unsafe-inline'; " +
	"img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"

// diagram handles GET /ui/diagram: the frame that draws the diagram after the # of its address, which is never sent
// here.
func (u *UI) diagram(c echo.Context) error {
	b, err := views.Render(page.Localized(c), files.Diagram())
	if err != nil {
		return err
	}
	h := c.Response().Header()
	h.Set("Content-Security-Policy", diagramPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "private, no-cache")
	return httpx.Compressed(c, http.StatusOK, echo.MIMETextHTMLCharsetUTF8, b)
}
