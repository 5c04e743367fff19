package api

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"fawn/web/httpx"
	"fawn/web/principal"
)

// policy says who may ask for a route. The zero value lets nobody in, so a route without a
// policy answers no one.
type policy int

const (
	nobody   policy = iota
	anyone          // also without an account
	user            // whoever has one; what belongs to others is not there
	operator        // who runs the installation: it concerns everybody
)

// allowing is h for those whom a policy lets in.
func (m mount) allowing(p policy, h echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if err := p.check(principal.Of(c.Request().Context())); err != nil {
			return err
		}
		return h(c)
	}
}

func (p policy) check(who principal.Principal) error {
	switch {
	case p == anyone, p == user && who.Known(), p == operator && who.Operator():
		return nil
	case p == nobody:
		return httpx.Errorf(http.StatusForbidden, "Nobody may use this route")
	case !who.Known():
		return httpx.Errorf(http.StatusUnauthorized, "Not signed in")
	}
	return httpx.Errorf(http.StatusForbidden, "This concerns everybody: only the owner of the installation may see or change it")
}
