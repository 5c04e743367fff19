package principal

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"fawn/web/httpx"
)

// Allow is h for those whom a policy lets in; all others get a 401 or 403.
func Allow(p Policy, h echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if err := Allowed(c, p); err != nil {
			return err
		}
		return h(c)
	}
}

// Allowed is nil if a policy lets the principal of a request in, or else a 401 or 403.
func Allowed(c echo.Context, p Policy) error {
	who := Of(c.Request().Context())
	switch {
	case p.Admits(who):
		return nil
	case p == Nobody:
		return httpx.Errorf(http.StatusForbidden, "Nobody may use this route")
	case !who.Known():
		return httpx.Errorf(http.StatusUnauthorized, "Not signed in")
	}
	return httpx.Errorf(http.StatusForbidden,
		"This concerns everybody: only the owner of the installation may see or change it")
}
