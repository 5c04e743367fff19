package ui

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"fawn/store"
	"fawn/views"
	"fawn/web/ui/page"
)

// Outcomes of a sandbox restart, in the address of the page that shows them.
const (
	didRestart = "restarted"
	didIdle    = "idle"
)

// restart handles POST /ui/threads/:id/sandbox: it ends every process of the chat's commands and reports the result in
// the chat.
func (u *UI) restart(c echo.Context, t store.Thread) error {
	if !u.runsCommands() {
		return echo.NewHTTPError(http.StatusNotFound, page.Say(c, "sandbox.is.off"))
	}
	ran, err := u.Restart(c.Request().Context(), t.ID)
	if err != nil {
		return err
	}
	did := didIdle
	if ran {
		did = didRestart
	}
	where := views.ThreadURL(t.ID) + "?did=" + did
	return page.Frame(c, views.Frame{Location: where}, where)
}
