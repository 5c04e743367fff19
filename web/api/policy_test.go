package api_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"fawn/web/httpx"
	"fawn/web/principal"
	"fawn/web/route"
	"fawn/web/webtest"
)

// TestNoRouteIsWithoutAPolicy: a request of nobody's is refused by every route but those for
// everybody, before it does anything; those of the installation refuse all but its operator.
func TestNoRouteIsWithoutAPolicy(t *testing.T) {
	open := []string{"/api/ok", "/api/info", "/api/v1/auth/"}
	operators := []string{"/api/settings/", "/api/models/discover", "/api/models/probe", "/api/network",
		"/api/memory/reload"}
	for owner, limited := range map[string]int{"": http.StatusUnauthorized, "eve": http.StatusForbidden} {
		e := echo.New()
		e.HTTPErrorHandler = httpx.ErrorHandler(slog.New(slog.DiscardHandler))
		if owner != "" {
			e.Use(principal.Middleware(func(*http.Request) principal.Principal {
				return principal.Principal{Owner: owner}
			}))
		}
		serve(route.Deps{}, e.Group("/api"), true)
		n := 0
		for _, r := range e.Routes() {
			mine := slices.ContainsFunc(operators, func(p string) bool { return strings.HasPrefix(r.Path, p) })
			mine = mine || strings.HasPrefix(r.Path, "/api/skills") && r.Method != http.MethodGet
			if r.Method == echo.RouteNotFound ||
				slices.ContainsFunc(open, func(p string) bool {
					return r.Path == p || strings.HasSuffix(p, "/") && strings.HasPrefix(r.Path, p)
				}) || owner != "" && !mine {
				continue
			}
			n++
			rec := httptest.NewRecorder()
			e.ServeHTTP(rec,
				httptest.NewRequest(r.Method, strings.NewReplacer(":", "x", "*", "x").Replace(r.Path), nil))
			webtest.Same(t, fmt.Sprintf("%s %s as %q: %s", r.Method, r.Path, owner, rec.Body), rec.Code, limited)
		}
		if n == 0 {
			t.Errorf("as %q: no routes", owner)
		}
	}
}
