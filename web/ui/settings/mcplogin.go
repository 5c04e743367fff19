package settings

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"fawn/agent/mcp"
	"fawn/views"
	"fawn/views/settings"
	"fawn/web/httpx"
	"fawn/web/ui/page"
)

// beginLogin handles POST /ui/mcp/by-name/:name/login: the section shows where to continue. It is a link rather than a
// redirect, so that people see the page's owner.
func (h *Handlers) beginLogin(c echo.Context) error {
	name := page.Param(c, "name")
	to, err := h.MCP.Login(c.Request().Context(), name, httpx.Origin(c.Request())+httpx.MCPCallback)
	if errors.Is(err, mcp.ErrUnknown) { // it was removed meanwhile
		return c.Redirect(http.StatusSeeOther, views.SettingsURL("mcp"))
	}
	if err != nil {
		return h.showLogin(c, http.StatusBadGateway, views.ServerLogin{Server: name, Failed: err.Error()})
	}
	httpx.BindLogin(c, to.State)
	login := views.ServerLogin{Server: name, URL: to.URL}
	if at, err := url.Parse(to.URL); err == nil {
		login.Host = at.Host
	}
	return h.showLogin(c, http.StatusOK, login)
}

// endLogin handles the redirect of authorization servers.
func (h *Handlers) endLogin(c echo.Context) error {
	q := c.QueryParams()
	a := mcp.LoginAnswer{State: q.Get("state"), Code: q.Get("code"), Issuer: q.Get("iss"), Error: q.Get("error"),
		Description: q.Get("error_description")}
	name, err := "", mcp.ErrLoginGone
	if httpx.BoundLogin(c, a.State) {
		name, err = h.MCP.FinishLogin(c.Request().Context(), a)
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	if err != nil {
		return h.showLogin(c, http.StatusBadRequest, views.ServerLogin{Server: name, Failed: err.Error()})
	}
	h.MCP.Await(c.Request().Context()) // its tools are available in a moment
	return c.Redirect(http.StatusSeeOther, views.SettingsURL("mcp"))
}

// showLogin shows the section with a login that is under way or has failed.
func (h *Handlers) showLogin(c echo.Context, status int, l views.ServerLogin) error {
	p, err := h.Settings(c, "mcp")
	if err != nil {
		return err
	}
	p.Servers, p.MayAdd, p.Login, p.Known = h.mcpServers(), page.MayChange(c), l, h.knownToAdd()
	c.Response().Header().Set("Cache-Control", "no-store")
	return page.HTML(c, status, settings.Page(p))
}

func (h *Handlers) logout(_ func(string) string, name string) error { return h.MCP.Logout(name) }
