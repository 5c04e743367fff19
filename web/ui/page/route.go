package page

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"fawn/web/principal"
)

// Roles that may request a page or an action.
const (
	Anyone   = principal.Anyone
	User     = principal.User
	Operator = principal.Operator
	Person   = principal.Person
)

// Route is a line of a table of routes.
type Route struct {
	method, path string
	who          principal.Policy
	do           echo.HandlerFunc
}

// Get returns the route of a page, or of a part of one.
func Get(path string, who principal.Policy, do echo.HandlerFunc) Route {
	return Route{http.MethodGet, path, who, do}
}

// Post returns the route of an action.
func Post(path string, who principal.Policy, do echo.HandlerFunc) Route {
	return Route{http.MethodPost, path, who, do}
}

// Add puts routes into g, which is mounted at the root.
func Add(g *echo.Group, table []Route) {
	for _, r := range table {
		g.Add(r.method, r.path, principal.Allow(r.who, r.do))
	}
}
