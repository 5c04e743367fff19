package principal

import (
	"fmt"
	"net/http"
	"reflect"
	"runtime"

	"github.com/labstack/echo/v4"

	"fawn/web/httpx"
)

// Allow restricts h to principals admitted by a policy; others get a 401 or 403. It is not inlined, so that Check
// recognizes its handlers.
//
//go:noinline
func Allow(p Policy, h echo.HandlerFunc) echo.HandlerFunc {
	if p == Nobody {
		return refuseAll
	}
	return func(c echo.Context) error {
		if err := Allowed(c, p); err != nil {
			return err
		}
		return h(c)
	}
}

// refuseAll answers for a route without a policy.
func refuseAll(c echo.Context) error { return Allowed(c, Nobody) }

// Check returns an error for a route whose handler isn't from [Allow] and therefore lacks a policy.
func Check(routes []*echo.Route) error {
	guarded := runtime.FuncForPC(reflect.ValueOf(Allow(User, nil)).Pointer()).Name()
	for _, r := range routes {
		if r.Method != echo.RouteNotFound && r.Name != guarded {
			return fmt.Errorf("%s %s has no policy", r.Method, r.Path)
		}
	}
	return nil
}

// Allowed returns nil if a policy admits the principal of a request, else a 401 or 403.
func Allowed(c echo.Context, p Policy) error {
	who := Of(c.Request().Context())
	switch {
	case p.AdmitsRequest(who, c.Request().Method):
		return nil
	case p == Nobody:
		return httpx.Errorf(http.StatusForbidden, "Nobody may use this route")
	case !who.Known():
		return unknown(who)
	case (p == Person || p == Manager) && who.Token != "":
		return httpx.Errorf(http.StatusForbidden, "A token can't do this: it concerns accounts. Sign in instead")
	case who.ReadOnly && p.Admits(who):
		return httpx.Errorf(http.StatusForbidden, "This token may only read")
	}
	return httpx.Errorf(http.StatusForbidden,
		"This concerns everybody: only the owner of the installation may see or change it")
}

// unknown returns the response for unauthenticated requests, with DeerFlow's code.
func unknown(who Principal) error {
	code, message := who.Why, "Authentication required"
	switch code {
	case "token_expired":
		message = "The session is over: sign in again"
	case "token_invalid":
		message = "The session or token isn't valid (any more)"
	case "user_not_found":
		message = "This account can't be used"
	default:
		code = "not_authenticated"
	}
	return &httpx.Detail{Status: http.StatusUnauthorized, Detail: map[string]string{"code": code, "message": message},
		Header: http.Header{"Www-Authenticate": {"Bearer"}}}
}
