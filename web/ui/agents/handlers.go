// Package agents serves the pages of custom agents and of skills.
package agents

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"fawn/agent/profile"
	"fawn/agent/skills"
	"fawn/web/ui/page"
)

// Deps are the parts that these pages show and change.
type Deps struct {
	Agents *profile.Library // nil means none
	Skills *skills.Library  // nil means none
	Fetch  *http.Client     // for skills at an address
	// Talk begins a chat that creates an agent. problem is worded for the requester and has a status.
	Talk func(c echo.Context, thread, agent, text string) (problem string, status int, err error)
}

// Handlers serve the pages.
type Handlers struct {
	*page.Site
	Deps
}
